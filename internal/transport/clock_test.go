// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"testing"
	"time"
)

func TestSkewNote(t *testing.T) {
	for skew, want := range map[time.Duration]string{
		0: "", 59 * time.Second: "", -59 * time.Second: "",
		time.Hour:    "; this host's clock is 1h0m0s behind the server's",
		-time.Minute: "; this host's clock is 1m0s ahead of the server's",
	} {
		if got := SkewNote(skew); got != want {
			t.Errorf("SkewNote(%s) = %q, want %q", skew, got, want)
		}
	}
}
