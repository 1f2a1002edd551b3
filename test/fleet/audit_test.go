// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/sets"
)

// The audit finds each violation in an otherwise correct history.
func TestAudit(t *testing.T) {
	available, cordoned := &nodeState{isAvailable: true}, &nodeState{}
	slot := func(node, id string) observation {
		return observation{name: "pool", slots: map[string]slotState{node: {id, "new"}}}
	}
	none := observation{name: "pool", slots: map[string]slotState{}}
	permitted := observation{name: "a", node: &nodeState{isAvailable: true, slot: "1"}}
	csr := func(name string, state csrState) observation { return observation{name: name, csr: &state} }
	own := csrState{node: "a", signer: "client", approval: "12:00", isDecided: true}
	again := own
	again.approval = "12:01"
	base := []observation{
		csr("own", csrState{node: "a", signer: "client"}), csr("own", own), csr("thief", csrState{node: "a"}),
		{name: "a", node: available},
		{name: "b", node: available},
		none, slot("a", "1"), permitted,
		{name: "a", node: &nodeState{slot: "1", isUpgrading: true}},
		permitted,
		{name: "a", node: available},
		none, slot("b", "2"),
		{name: "b", node: cordoned},
	}
	for name, test := range map[string]struct {
		more []observation
		want string // of a violation; "" for none
	}{
		"correct":         {nil, ""},
		"known CSR again": {[]observation{csr("own", own)}, ""},
		"thief": {
			[]observation{csr("thief", csrState{isDecided: true})}, "a CSR of a thief is decided: 1 times",
		},
		"thief approved":         {[]observation{csr("thief", own)}, "a CSR of a thief is decided: 1 times"},
		"approved twice":         {[]observation{csr("own", again)}, "a CSR is approved twice: 1 times"},
		"second CSR of the node": {[]observation{csr("other", own)}, "a foreign CSR is approved: 1 times"},
		"second upgrade": {
			[]observation{
				{name: "b", node: &nodeState{slot: "2", isUpgrading: true}},
				{name: "b", node: available},
				slot("b", "3"),
				{name: "b", node: &nodeState{slot: "3", isUpgrading: true}},
			}, "a node upgrades twice: 1 times",
		},
		"upgrade without a slot": {
			[]observation{none, {name: "b", node: &nodeState{isUpgrading: true}}}, "a node upgrades without a slot: 1 times",
		},
		"cut off": {[]observation{{name: "c", node: cordoned}}, ""},
		"slot in an outage": {
			[]observation{{name: "c", node: cordoned}, {name: "pool", slots: map[string]slotState{
				"b": {"2", "new"}, "c": {"3", "new"},
			}}}, "unavailable or have a slot: 1 times",
		},
		"another configuration": {
			[]observation{{name: "pool", slots: map[string]slotState{"b": {"2", "x"}}}}, "another configuration",
		},
		"permission without slot": {[]observation{permitted}, "a permission is not a slot: 1 times"},
		"two unavailable":         {[]observation{{name: "a", node: cordoned}}, "unavailable or have a slot: 1 times"},
		"slot beside unavailable": {[]observation{slot("a", "1")}, "unavailable or have a slot: 1 times"},
	} {
		history := append(append([]observation{}, base...), test.more...)
		revision := uint64(0)
		for i := range history {
			revision++
			history[i].revision = revision
		}
		for i, j := 0, len(history)-1; i < j; i, j = i+1, j-1 { // watches of several kinds have no common order
			history[i], history[j] = history[j], history[i]
		}
		a := audit{
			limit: 1, config: "new", hostile: sets.New("thief"), own: map[string]string{"a client": "own"},
			cut: sets.New("c"),
		}
		got := a.check(history)
		if (test.want == "") != (len(got) == 0) || !strings.Contains(strings.Join(got, "\n"), test.want) || len(got) > 1 {
			t.Errorf("%s: check() = %q, want %q", name, got, test.want)
		}
	}
}
