// SPDX-License-Identifier: Apache-2.0

package remediation

import (
	"testing"
	"time"
)

// The profiles differ in the time until a Node is unresponsive. Nodes whose link fails at the same moment then become
// so within 20 seconds, and After begins only then.
func TestDecideWithLatencyProfiles(t *testing.T) {
	const renewal, check = 10 * time.Second, 5 * time.Second // of kubelet and kube-controller-manager
	for profile, grace := range map[string]time.Duration{
		"Default": 50 * time.Second, "MediumUpdateAverageReaction": 2 * time.Minute, "LowUpdateSlowReaction": 5 * time.Minute,
	} {
		five := policy(func(p *Policy) { p.After = 5 * time.Minute })
		unresponsive := func(cut, earlier, later time.Duration) func(*Node) { // times before the start
			return lost(cut - grace + earlier - later)
		}
		nodes := with(ready("a", "b", "c", "d", "e"), "a", unresponsive(time.Hour, renewal, 0))
		nodes = with(nodes, "b", unresponsive(time.Hour, 0, 2*check))
		if got := Decide(five, nodes, clusterOf(nodes, 20), start); got.Blocked != ReasonTooManyUnhealthy {
			t.Errorf("%s, one NodePool: %s", profile, describe(got))
		}
		other := clusterOf(nodes, 20)
		nodes[1] = ready("b")[0] // b is in another NodePool
		if got := Decide(five, nodes, other, start); got.Blocked != ReasonLostTogether {
			t.Errorf("%s, two NodePools: %s", profile, describe(got))
		}
		for silence, want := range map[time.Duration]int{grace + 5*time.Minute - time.Second: 0, grace + 5*time.Minute: 1} {
			nodes := with(ready("a", "b", "c"), "a", unresponsive(silence, 0, 0))
			if got := Decide(five, nodes, clusterOf(nodes, 0), start); len(got.Act) != want {
				t.Errorf("%s, silent for %s: %s", profile, silence, describe(got))
			}
		}
	}
}
