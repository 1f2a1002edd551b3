// SPDX-License-Identifier: Apache-2.0

// Package wrap adds what failed to errors.
package wrap

import "fmt"

// Errorf returns an error that consists of the formatted text, a colon and err, which it wraps. It returns nil if
// err is nil.
func Errorf(err error, format string, args ...any) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", fmt.Sprintf(format, args...), err)
}
