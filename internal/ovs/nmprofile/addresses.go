// SPDX-License-Identifier: Apache-2.0

package nmprofile

import (
	"slices"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/networkmanager"
)

// WithoutAddresses returns the settings without addresses. All other settings
// are unchanged, or NetworkManager would refuse to reapply them.
func WithoutAddresses(applied networkmanager.Settings) networkmanager.Settings {
	s := applied.Clone()
	for _, section := range []string{"ipv4", "ipv6"} {
		s.Keep(section)
		s.Set(section, "method", "disabled")
	}
	return s
}

// WithAddressesOf returns applied with the address settings of original.
func WithAddressesOf(applied, original networkmanager.Settings) networkmanager.Settings {
	s := applied.Clone()
	for _, section := range []string{"ipv4", "ipv6"} {
		delete(s, section)
		if from, ok := original[section]; ok {
			s[section] = from
		}
	}
	return s
}

// LostAddresses reports whether a device's addresses were removed while it kept
// its profile.
func LostAddresses(applied, original networkmanager.Settings) bool {
	return slices.ContainsFunc(networkmanager.Families(), func(family networkmanager.Family) bool {
		return applied.Method(family) != original.Method(family)
	})
}
