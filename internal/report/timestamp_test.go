// SPDX-License-Identifier: Apache-2.0

package report

import (
	"testing"
	"time"
)

func TestFormatAge(t *testing.T) {
	for age, want := range map[time.Duration]string{
		time.Second:      "less than a minute",
		time.Minute:      "1m",
		90 * time.Minute: "1h30m",
		47 * time.Hour:   "47h0m",
		72 * time.Hour:   "3 days",
	} {
		if got := FormatAge(age); got != want {
			t.Errorf("%s is %q, want %q", age, got, want)
		}
	}
}
