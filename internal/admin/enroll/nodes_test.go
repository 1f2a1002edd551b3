// SPDX-License-Identifier: Apache-2.0

package enroll

import (
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/enrollment"
)

func TestParseNode(t *testing.T) {
	for text, want := range map[string]string{
		"worker-1":                         "worker-1 []",
		"worker-1=192.0.2.1":               "worker-1 [192.0.2.1]",
		"worker-1=192.0.2.0/24,2001:db8::": "worker-1 [192.0.2.0/24 2001:db8::]",
		"worker-1=":                        "not an IP address or a CIDR",
		"worker-1=192.0.2.1,":              "not an IP address or a CIDR",
		"worker-1=192.0.2.1/24":            "use 192.0.2.0/24",
		"Worker-1":                         "not a valid node name",
		"":                                 "not a valid node name",
		"=192.0.2.1":                       "not a valid node name",
	} {
		node, err := ParseNode(text)
		got := node.Name + " [" + strings.Join(enrollment.FormatAddresses(node.Addresses), " ") + "]"
		if err != nil {
			got = err.Error()
		}
		if !strings.Contains(got, want) {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}

func TestParseNodes(t *testing.T) {
	nodes, err := ParseNodes([]byte("# a rack\nworker-1 192.0.2.1 2001:db8::1\n\nworker-2 # by hand\r\n"))
	if err != nil || len(nodes) != 2 || len(nodes[0].Addresses) != 2 || nodes[1].Name != "worker-2" {
		t.Errorf("%+v, %v", nodes, err)
	}
	if _, err := ParseNodes([]byte("a\n\nb here\n")); err == nil || !strings.HasPrefix(err.Error(), "line 3: ") {
		t.Errorf("%v", err)
	}
}

func TestCheckNodes(t *testing.T) {
	for name, test := range map[string]struct {
		nodes    string
		err      string
		findings []string
	}{
		"good":            {"a.example.com 192.0.2.1\nb.example.com 192.0.2.2", "", nil},
		"without domains": {"a\nb", "", nil},
		"shared network":  {"a 192.0.2.0/24\nb 192.0.2.0/24\nc 192.0.2.7", "", nil},
		"none":            {"", "no node is given", nil},
		"twice":           {"a\nb\na", "node a is listed twice", nil},
		"same address":    {"a 192.0.2.1\nb 192.0.2.1", "a and b have the same address 192.0.2.1", nil},
		"one without a domain": {
			"a.example.com\nb\nc.example.com", "", []string{"b has no domain, but 2 other nodes have one"},
		},
		"one with a domain": {"a.example.com\nb", "", []string{"b has no domain, but another node has one"}},
		"address":           {"192.0.2.1", "", []string{"192.0.2.1 is an IP address"}},
		"no name":           {"localhost.localdomain", "", []string{"of a host that has no name yet"}},
	} {
		nodes, err := ParseNodes([]byte(test.nodes))
		if err != nil {
			t.Fatal(err)
		}
		findings, err := checkNodes(nodes)
		if (err != nil) != (test.err != "") || (err != nil && !strings.Contains(err.Error(), test.err)) ||
			len(findings) != len(test.findings) {
			t.Errorf("%s: %v, %+v", name, err, findings)
			continue
		}
		for i, want := range test.findings {
			if !strings.Contains(findings[i].Message, want) {
				t.Errorf("%s: %s, want %q", name, findings[i].Message, want)
			}
		}
	}
}

func TestCheckNodeComparesWithTheCluster(t *testing.T) {
	found := content{nodes: map[string]bool{"a": true}, owners: map[netip.Addr]string{
		netip.MustParseAddr("192.0.2.9"): "Node other",
	}}
	for text, want := range map[string]int{
		"a": 1, "b": 0, "b=192.0.2.9": 1, "b=192.0.2.8": 0, "a=192.0.2.9": 2, "b=192.0.2.8/29": 0,
	} {
		node, err := ParseNode(text)
		if err != nil {
			t.Fatal(err)
		}
		if findings := found.checkNode(node, false); len(findings) != want {
			t.Errorf("%s: %+v, want %d", text, findings, want)
		}
	}
	if findings := found.checkNode(Node{Name: "a"}, true); len(findings) != 0 {
		t.Errorf("with --reinstall allow: %+v", findings)
	}
}

func TestCheckCredential(t *testing.T) {
	token := &enrollment.Token{Terms: enrollment.Terms{NodeName: "a", Expires: time.Now().Add(time.Hour)}}
	for offset, want := range map[time.Duration]int{0: 0, -time.Second: 0, time.Hour: 0, -2 * time.Minute: 1} {
		if findings := checkCredential(token, token.Expires.Add(offset)); len(findings) != want {
			t.Errorf("%s: %+v", offset, findings)
		}
	}
}
