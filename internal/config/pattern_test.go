// SPDX-License-Identifier: Apache-2.0

package config

import "testing"

func TestMatch(t *testing.T) {
	for _, test := range []struct {
		pattern, name string
		want          bool
	}{
		{"/etc/a.conf", "/etc/a.conf", true},
		{"/etc/a.conf", "/etc/a.conf.d", false},
		{"/etc/*.conf", "/etc/a.conf", true},
		{"/etc/*.conf", "/etc/d/a.conf", false},
		{"/etc/*", "/etc/d/a.conf", false},
		{"/etc/?.conf", "/etc/a.conf", true},
		{"/etc/[ab].conf", "/etc/b.conf", true},
		{"/etc/[^ab].conf", "/etc/b.conf", false},
		{`/etc/\*`, "/etc/*", true},
		{`/etc/\*`, "/etc/a", false},
		{"/etc/d/**", "/etc/d/a", true},
		{"/etc/d/**", "/etc/d/e/f/a", true},
		{"/etc/d/**", "/etc/d", false},
		{"/etc/d/**", "/etc/dd/a", false},
		{"/etc/*.d/**", "/etc/x.d/e/a", true},
		{"/etc/*.d/**", "/etc/x/e/a", false},
		{"/**", "/a", true},
		{"/**", "/a/b", true},
		{"*.service", "a.service", true},
		{"*.service", "a.service/b.conf", false},
		{"a.service/*", "a.service/b.conf", true},
		{"a@*.service", "a@b.service", true},
		{"**", "a", true}, // a single * for path.Match; Check rejects it
		{"/etc/[", "/etc/[", false},
		{"/etc/[/**", "/etc/[/a", false},
	} {
		if got := MatchPath(test.pattern, test.name); got != test.want {
			t.Errorf("MatchPath(%q, %q) = %t", test.pattern, test.name, got)
		}
	}
}

func TestValidate(t *testing.T) {
	for pattern, good := range map[string]bool{
		"/etc/a.conf": true, "/etc/*": true, "/etc/d/**": true, "/**": true, "*.service": true, "a.service/*.conf": true,
		"/etc/[": false, `/etc/\`: false, "/etc/**/a": false, "**": false, "/etc/a**": false, "/etc/**/**": false,
	} {
		if err := ValidatePattern(pattern); (err == nil) != good {
			t.Errorf("Check(%q): %v", pattern, err)
		}
	}
}
