// SPDX-License-Identifier: Apache-2.0

package report

import (
	"errors"
	"fmt"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/redact"
)

// InvalidValue returns the message for an invalid value of a setting. Its name is that of the
// source: a key, a variable or a flag. A secret in the value is masked.
func InvalidValue(name, value string, err error) string {
	return redact.Text(fmt.Sprintf("%s: invalid value %q: %v", name, value, err))
}

// ParseDuration parses a duration in the notation of Go, such as 1h30m.
func ParseDuration(text string) (time.Duration, error) {
	duration, err := time.ParseDuration(text)
	if err != nil {
		return 0, errors.New("must be a duration such as 90s or 1h30m")
	}
	return duration, nil
}
