// SPDX-License-Identifier: Apache-2.0

package approver

import (
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/api/v1alpha1"
	"github.com/hcp-node-agent/hcp-node-agent/internal/enrollment"
	"github.com/hcp-node-agent/hcp-node-agent/test/certtest"
)

// An address of a serving CSR that the Nodes of two enrolled hosts have belongs to the host whose enrollment names it
// more exactly. Of two that are equally exact, neither gets it.
func TestDecideAddressesByLongestPrefix(t *testing.T) {
	now := time.Now()
	ca := certtest.NewCA(t, "ca").PEM
	cluster, err := enrollment.CAHashes(ca)
	if err != nil {
		t.Fatal(err)
	}
	key := certtest.NewKey(t)
	serving := validServingCSR(key).csr(t) // 192.0.2.7 and 2001:db8::7
	for name, test := range map[string]struct {
		own, other []string // addresses of the enrollments
		want       Outcome
		reason     string
	}{
		"networks":                {[]string{"192.0.2.0/24", "2001:db8::/64"}, nil, Approved, ""},
		"one of two in a network": {[]string{"192.0.2.0/24"}, nil, Refused, "it requests 2001:db8::7; the node has 192.0.2.0/24"},
		"another network":         {[]string{"192.0.2.128/25", "2001:db8::/64"}, nil, Refused, "it requests 192.0.2.7; the node has"},
		"exact against network": {
			[]string{"192.0.2.7", "2001:db8::7"}, []string{"2001:db8::/64"}, Approved, "Node worker-2 has the same address",
		},
		"network against exact": {
			[]string{"192.0.2.7", "2001:db8::/64"}, []string{"2001:db8::7"}, Refused, "belongs to Node worker-2",
		},
		"smaller against larger network": {
			[]string{"192.0.2.7", "2001:db8::/120"}, []string{"2001:db8::/64"}, Approved, "Node worker-2 has the same address",
		},
		"larger against smaller network": {
			[]string{"192.0.2.7", "2001:db8::/64"}, []string{"2001:db8::/120"}, Refused, "belongs to Node worker-2",
		},
		"both exact": {
			[]string{"192.0.2.7", "2001:db8::7"}, []string{"2001:db8::7"}, Refused, "belongs to Node worker-2",
		},
		"the same network": {
			[]string{"192.0.2.7", "2001:db8::/64"}, []string{"2001:db8::/64"}, Refused, "belongs to Node worker-2",
		},
		"the longest of several": {
			[]string{"192.0.2.7", "2001:db8::/32", "2001:db8::7"},
			[]string{"2001:db8::/64"},
			Approved,
			"Node worker-2 has the same address",
		},
	} {
		own := issue(t, "worker-1", ca, now, test.own...)
		other := issue(t, "worker-2", ca, now, test.other...)
		facts := Facts{
			Now:            now,
			CAHashes:       cluster,
			UsedKeys:       map[string]string{own.ID: "SHA256:00", other.ID: "SHA256:01"},
			NodesByAddress: map[netip.Addr][]string{netip.MustParseAddr("2001:db8::7"): {"worker-1"}},
		}
		if test.other != nil {
			facts.NodesByAddress[netip.MustParseAddr("2001:db8::7")] = []string{"worker-1", "worker-2"}
		}
		d := Decide(serving, byNode(own.enrollment, other.enrollment), facts)
		if d.Outcome != test.want || (d.Reason == "") != (test.reason == "") || !strings.Contains(d.Reason, test.reason) {
			t.Errorf("%s: %s: %s, want %s: %s", name, d.Outcome, d.Reason, test.want, test.reason)
		}
	}
}

// A host with an unused join token replaces its Node only if its enrollment permits this and the Node is not Ready.
func TestDecideReinstall(t *testing.T) {
	now := time.Now()
	ca := certtest.NewCA(t, "ca").PEM
	cluster, err := enrollment.CAHashes(ca)
	if err != nil {
		t.Fatal(err)
	}
	key := certtest.NewKey(t)
	mine := enrollment.Fingerprint(&key.PublicKey)
	const refuse, allow, again = v1alpha1.ReinstallRefuse, v1alpha1.ReinstallAllow, v1alpha1.ReinstallAllowSameToken
	const other = "SHA256:00"
	for name, test := range map[string]struct {
		policy v1alpha1.ReinstallPolicy
		node   NodeState
		used   string // key with which the token was used
		want   Outcome
		reason string
	}{
		"no Node":                          {refuse, NodeState{}, "", Approved, ""},
		"no Node, allowed":                 {allow, NodeState{}, "", Approved, ""},
		"no Node, allowed, another key":    {allow, NodeState{}, other, Refused, "was already used"},
		"no Node, again, another key":      {again, NodeState{}, other, Approved, ""},
		"a Node":                           {refuse, NodeState{Exists: true}, "", Refused, "Node worker-1 already exists"},
		"a Node, allowed":                  {allow, NodeState{Exists: true}, "", Approved, ""},
		"a Node, allowed, the same key":    {allow, NodeState{Exists: true}, mine, Approved, ""},
		"a Node, allowed, another key":     {allow, NodeState{Exists: true}, other, Refused, "was already used"},
		"a Node, again":                    {again, NodeState{Exists: true}, "", Approved, ""},
		"a Node, again, the same key":      {again, NodeState{Exists: true}, mine, Approved, ""},
		"a Node, again, another key":       {again, NodeState{Exists: true}, other, Approved, ""},
		"a Ready Node":                     {refuse, NodeState{Exists: true, IsReady: true}, "", Refused, "already exists"},
		"a Ready Node, allowed":            {allow, NodeState{Exists: true, IsReady: true}, "", Refused, "worker-1 is Ready"},
		"a Ready Node, allowed, key bound": {allow, NodeState{Exists: true, IsReady: true}, mine, Refused, "is Ready"},
		"a Ready Node, again":              {again, NodeState{Exists: true, IsReady: true}, other, Refused, "is Ready"},
	} {
		token := issue(t, "worker-1", ca, now)
		token.enrollment.Reinstall = test.policy
		csr := validClientCSR(key).csr(t)
		csr.Annotations = token.sign(t, cluster, key)
		d := Decide(csr, byNode(token.enrollment), Facts{
			Now: now, CAHashes: cluster, UsedKeys: map[string]string{token.ID: test.used}, Node: &test.node,
		})
		if d.Outcome != test.want || (d.Reason == "") != (test.reason == "") || !strings.Contains(d.Reason, test.reason) {
			t.Errorf("%s: %s: %s, want %s: %s", name, d.Outcome, d.Reason, test.want, test.reason)
		}
		if wantUse := d.Outcome == Approved && test.used != mine; d.UsesToken != wantUse {
			t.Errorf("%s: the key is recorded: %t, want %t", name, d.UsesToken, wantUse)
		}
	}
}
