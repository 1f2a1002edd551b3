// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"testing"
	"time"
)

func TestIsLoaded(t *testing.T) {
	loaded := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	for name, test := range map[string]struct {
		newest, now time.Time
		want        bool
	}{
		"a change before":             {loaded.Add(-time.Second), loaded.Add(time.Hour), true},
		"a change at the same time":   {loaded, loaded.Add(time.Hour), false},
		"a change after":              {loaded.Add(time.Minute), loaded.Add(time.Hour), false},
		"no unit file at all":         {time.Time{}, loaded.Add(time.Hour), true},
		"the clock was set back then": {loaded.Add(-50 * time.Minute), loaded.Add(-40 * time.Minute), false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := isLoaded(test.newest, loaded, test.now); got != test.want {
				t.Errorf("isLoaded() = %t, want %t", got, test.want)
			}
		})
	}
}
