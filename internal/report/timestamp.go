// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"time"
)

// Timestamp formats a time for messages: in UTC, to the second.
func Timestamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// FormatAge formats a duration in the past for messages, such as 3h5m or 3 days.
func FormatAge(age time.Duration) string {
	switch {
	case age < time.Minute:
		return "less than a minute"
	case age > 48*time.Hour:
		return fmt.Sprintf("%d days", int(age.Hours()/24))
	}
	text := age.Round(time.Minute).String() // 3h5m0s
	return text[:len(text)-len("0s")]
}
