// SPDX-License-Identifier: Apache-2.0

package nodecheck

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"sync"
	"testing"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostnet"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// network is a cluster of which some nodes are behind a path with an MTU of 1400, or do not reply.
type network struct {
	peers          []netip.Addr
	narrow, silent map[string]bool
	mutex          sync.Mutex
	measured       []string
}

func networkOf(addresses ...string) *network {
	n := &network{narrow: map[string]bool{}, silent: map[string]bool{}}
	for _, address := range addresses {
		n.peers = append(n.peers, netip.MustParseAddr(address))
	}
	return n
}

func (n *network) measure(peer netip.Addr, size int) (hostnet.PathMTU, error) {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	n.measured = append(n.measured, peer.String())
	switch {
	case n.silent[peer.String()]:
		return hostnet.PathMTU{}, nil
	case n.narrow[peer.String()]:
		return hostnet.PathMTU{Responds: true, Bytes: min(size, 1400)}, nil
	}
	return hostnet.PathMTU{Responds: true, Bytes: size}, nil
}

// run runs the check and returns its only finding, or none.
func (n *network) run(t *testing.T, p *Paths) report.Finding {
	t.Helper()
	n.measured = nil
	found, _, err := p.check(n.peers, 1400, n.measure)
	if err != nil || len(found) > 1 {
		t.Fatalf("%+v, %v", found, err)
	}
	if len(n.measured) > maxPeers {
		t.Errorf("measured paths: %v", n.measured)
	}
	return append(found, report.Finding{})[0]
}

func TestPathsFinding(t *testing.T) {
	for name, test := range map[string]struct {
		narrow  []string
		message string
		remedy  string
	}{
		"all paths are wide": {},
		"IPv4": {
			[]string{"192.0.2.7"},
			"packets of 1458 bytes do not reach the node with address 192.0.2.7: the overlay network needs 1458 for the pod " +
				"MTU of 1400, the path to 192.0.2.7 carries 1400; connections of pods hang",
			"ping -c 3 -M do -s 1430 192.0.2.7 # while it gets no reply, raise the MTU of the path, or use a pod MTU of at " +
				"most 1342: docs/troubleshooting.md",
		},
		"IPv6": {
			[]string{"2001:db8::7"},
			"packets of 1478 bytes do not reach the node with address 2001:db8::7: the overlay network needs 1478 for the pod " +
				"MTU of 1400, the path to 2001:db8::7 carries 1400; connections of pods hang",
			"ping -c 3 -M do -s 1430 2001:db8::7 # while it gets no reply, raise the MTU of the path, or use a pod MTU of at " +
				"most 1322: docs/troubleshooting.md",
		},
		"two": {
			[]string{"192.0.2.7", "192.0.2.8"},
			"packets of 1458 bytes do not reach 2 nodes, such as 192.0.2.7, 192.0.2.8: the overlay network needs 1458 for the " +
				"pod MTU of 1400, the path to 192.0.2.7 carries 1400; connections of pods hang",
			"ping -c 3 -M do -s 1430 192.0.2.7 # while it gets no reply, raise the MTU of the path, or use a pod MTU of at " +
				"most 1342: docs/troubleshooting.md",
		},
	} {
		n := networkOf("192.0.2.7", "192.0.2.8", "2001:db8::7")
		for _, peer := range test.narrow {
			n.narrow[peer] = true
		}
		found := n.run(t, &Paths{})
		if found.Message != test.message || string(found.Remedy) != test.remedy {
			t.Errorf("%s:\n got %s\n%s\nwant %s\n%s", name, found.Message, found.Remedy, test.message, test.remedy)
		}
		if test.message != "" && (found.Severity != report.SeverityWarning || found.Reason != report.PathMTUTooSmall) {
			t.Errorf("%s: %+v", name, found)
		}
	}
}

// All nodes are visited in turn, also while some have a finding. A finding ends only when its node is measured again.
func TestPathsVisitsAllNodes(t *testing.T) {
	n, p := networkOf(), &Paths{}
	for i := range 20 {
		n.peers = append(n.peers, netip.MustParseAddr(fmt.Sprintf("192.0.2.%d", i+1)))
	}
	for _, peer := range n.peers[15:] {
		n.narrow[peer.String()] = true
	}
	visited := map[string]bool{}
	for range 20 { // at least one new node in each
		n.run(t, p)
		for _, peer := range n.measured {
			visited[peer] = true
		}
	}
	found := n.run(t, p)
	if len(visited) != len(n.peers) || !strings.Contains(found.Message, "do not reach 5 nodes, such as 192.0.2.16") {
		t.Errorf("%d of %d nodes were visited; %q", len(visited), len(n.peers), found.Message)
	}
	for peer := range n.narrow { // nodes that do not reply keep their finding
		n.silent[peer] = true
	}
	for range 10 {
		found = n.run(t, p)
	}
	if !strings.Contains(found.Message, "do not reach 5 nodes") {
		t.Errorf("silent nodes: %q", found.Message)
	}
	n.peers = n.peers[:19] // a node has left the cluster
	if found = n.run(t, p); !strings.Contains(found.Message, "do not reach 4 nodes") {
		t.Errorf("a removed node: %q", found.Message)
	}
	clear(n.silent)
	clear(n.narrow)
	for range 2 { // two of the four in each
		found = n.run(t, p)
	}
	if found.Message != "" {
		t.Errorf("after the paths were changed: %q", found.Message)
	}
}

func TestPathsOfSilentNodesAreUnknown(t *testing.T) {
	n := networkOf("192.0.2.7", "192.0.2.8")
	n.silent["192.0.2.7"], n.narrow["192.0.2.7"] = true, true
	found, measured, err := (&Paths{}).check(n.peers, 1400, n.measure)
	if want := (Measured{Wide: []string{"192.0.2.8"}, Silent: []string{"192.0.2.7"}}); err != nil || len(found) != 0 ||
		fmt.Sprint(measured) != fmt.Sprint(want) {
		t.Errorf("%+v, %+v, %v, want %+v", found, measured, err, want)
	}
}

func TestPathsReportsErrors(t *testing.T) {
	failure := errors.New("no permission")
	_, _, err := (&Paths{}).check(networkOf("192.0.2.7").peers, 1400, func(netip.Addr, int) (hostnet.PathMTU, error) {
		return hostnet.PathMTU{}, failure
	})
	if !errors.Is(err, failure) {
		t.Errorf("%v, want %v", err, failure)
	}
	if found, measured, err := (&Paths{}).check(nil, 1400, nil); len(found) > 0 || len(measured.Wide) > 0 || err != nil {
		t.Errorf("without other nodes: %+v, %+v, %v", found, measured, err)
	}
}
