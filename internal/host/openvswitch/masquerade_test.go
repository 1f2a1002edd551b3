// SPDX-License-Identifier: Apache-2.0

package openvswitch

import (
	"net/netip"
	"testing"
)

func TestIsMasquerade(t *testing.T) {
	for text, want := range map[string]bool{
		"169.254.169.2/29": true, "169.254.0.2/17": true, "fd69::2/125": true, "fd69::2/112": true, "fd69::2/128": true,
		"169.254.0.2/16":   false,
		"169.254.169.2/24": false,
		"169.254.0.3/17":   false,
		"fd69::3/112":      false,
		"192.0.2.2/24":     false,
		"2001:db8::2/64":   false,
	} {
		if got := IsMasquerade(netip.MustParsePrefix(text)); got != want {
			t.Errorf("IsMasquerade(%s) = %t", text, got)
		}
	}
}
