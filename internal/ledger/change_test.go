// SPDX-License-Identifier: Apache-2.0

package ledger

import "testing"

func TestMatches(t *testing.T) {
	mode, other := uint32(0o600), uint32(0o644)
	file := func(edit func(*State)) State {
		s := State{Present: true, Type: "file", Digest: "aa", Mode: &mode}
		edit(&s)
		return s
	}
	as := func(*State) {}
	for name, test := range map[string]struct {
		kind Kind
		want State
		now  State
		same bool
	}{
		"equal":                 {File, file(as), file(as), true},
		"no desired attributes": {File, State{Present: true}, file(as), true},
		"other content":         {File, file(as), file(func(s *State) { s.Digest = "bb" }), false},
		"other mode":            {File, file(as), file(func(s *State) { s.Mode = &other }), false},
		"mode not seen":         {File, file(as), file(func(s *State) { s.Mode = nil }), false},
		"other type":            {File, State{Present: true}, State{Present: true, Type: "directory"}, false},
		"a link, no file":       {File, State{Present: true}, State{Present: true, Type: "link"}, false},
		"absent, desired":       {File, file(as), State{}, false},
		"present, not desired":  {File, State{}, file(as), false},
		"absent, not desired":   {File, State{}, State{}, true},
		"unit as desired": {
			Unit,
			State{Present: true, Enabled: "enabled"},
			State{Present: true, Enabled: "enabled", Active: "inactive"},
			true,
		},
		"unit not running": {
			Unit,
			State{Present: true, Active: "active"},
			State{Present: true, Enabled: "enabled", Active: "inactive"},
			false,
		},
		"other data": {
			"bridge",
			State{Present: true, Data: []byte(`{"a":1}`)},
			State{Present: true, Data: []byte(`{}`)},
			true,
		},
		"other value": {Sysctl, State{Present: true, Value: "1"}, State{Present: true, Value: "0"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			if same := (Change{Kind: test.kind, Desired: test.want}).Matches(test.now); same != test.same {
				t.Errorf("Same = %t", same)
			}
		})
	}
}
