// SPDX-License-Identifier: Apache-2.0

package config

import (
	"errors"
	"fmt"
	"path"
	"strings"
)

// checkExclude returns an error for an invalid pattern of payload.drop. A pattern that can
// never match is also an error: it is a typing error, and the object to exclude would be
// written to the host.
func checkExclude(pattern string) error {
	switch {
	case pattern == "":
		return errors.New("must not be empty")
	case strings.HasPrefix(pattern, "/") && path.Clean(pattern) != pattern:
		return fmt.Errorf("must be in its shortest form, %s", path.Clean(pattern))
	case !strings.HasPrefix(pattern, "/") && (strings.Count(pattern, "/") > 1 || strings.HasPrefix(pattern, ".") ||
		strings.HasSuffix(pattern, "/")):
		return errors.New("must be an absolute path, UNIT or UNIT/DROP-IN")
	}
	return ValidatePattern(pattern)
}
