// SPDX-License-Identifier: Apache-2.0

package nodecheck

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"sync"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostnet"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/openvswitch"
	"github.com/hcp-node-agent/hcp-node-agent/internal/lists"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

const (
	// podInterface is the interface of OVN-Kubernetes on the host. Its MTU is that of the pods.
	podInterface = "ovn-k8s-mp0"
	// maxPeers is the number of nodes to which one check measures the path.
	maxPeers = 3
	// maxNamedPeers is the number of nodes that a finding names.
	maxNamedPeers = 3
	// geneveOverhead is the number of bytes that OVN adds to a packet of a pod, without the IP header: Ethernet 14, Geneve
	// 8 with an option of 8, UDP 8.
	geneveOverhead = 38
)

// Paths checks the paths to the other nodes of the overlay network, a few in each run. The zero value is ready to use.
type Paths struct {
	known map[netip.Addr]measuredPath
	run   int
}

// measuredPath is the last result for a node.
type measuredPath struct {
	run int // of the last measurement; 0 for none
	hostnet.PathMTU
	isNarrow bool // large packets were lost when the node last responded
}

// Measured lists nodes of a run of the check.
type Measured struct {
	Wide   []string // addresses of nodes that large packets reach
	Silent []string // addresses of nodes that do not reply to ICMP echo requests
}

// Find measures the paths to up to three nodes, those that were measured longest ago and those with a finding first. It
// returns at most one finding, about all nodes that packets of the overlay network do not reach. Without OVN-Kubernetes
// or other nodes there is nothing to measure.
//
// The nodes are those of the tunnels of ovn-controller: kube-apiserver lets a node read no other Nodes
// (NodeRestriction, AuthorizeNodeWithSelectors), and the addresses of the tunnels are those that count.
func (p *Paths) Find(ctx context.Context) ([]report.Finding, Measured, error) {
	podMTU, err := readPodMTU()
	if err != nil || podMTU == 0 {
		return nil, Measured{}, err
	}
	peers, err := openvswitch.TunnelPeers(ctx)
	if err != nil {
		return nil, Measured{}, err
	}
	return p.check(peers, podMTU, func(peer netip.Addr, size int) (hostnet.PathMTU, error) {
		return hostnet.MeasurePathMTU(ctx, peer, size)
	})
}

// readPodMTU returns the MTU of the pods, 0 without OVN-Kubernetes.
func readPodMTU() (int, error) {
	links, err := hostnet.Links()
	return lists.Find(links, func(link hostnet.Link) bool { return link.Name == podInterface }).MTU, err
}

// neededBytes returns the size of the largest packet with which the overlay network sends a packet of a pod to a node.
func neededBytes(peer netip.Addr, podMTU int) int {
	return podMTU + geneveOverhead + ipHeader(peer)
}

// ipHeader returns the size of the IP header of a packet to a node, in bytes.
func ipHeader(peer netip.Addr) int {
	if peer.Is6() {
		return 40
	}
	return 20
}

// check measures the paths to some of the peers with measure, which it calls concurrently.
func (p *Paths) check(
	peers []netip.Addr, podMTU int, measure func(netip.Addr, int) (hostnet.PathMTU, error),
) ([]report.Finding, Measured, error) {
	chosen := p.choose(peers)
	results, errs := make([]hostnet.PathMTU, len(chosen)), make([]error, len(chosen))
	var group sync.WaitGroup
	for i, peer := range chosen {
		group.Go(func() { results[i], errs[i] = measure(peer, neededBytes(peer, podMTU)) })
	}
	group.Wait()
	if err := errors.Join(errs...); err != nil {
		return nil, Measured{}, err
	}
	var measured Measured
	for i, peer := range chosen {
		path := p.known[peer]
		path.run = p.run
		switch result := results[i]; {
		case !result.Responds: // its last result remains
			measured.Silent = append(measured.Silent, peer.String())
		case result.Bytes < neededBytes(peer, podMTU):
			path.PathMTU, path.isNarrow = result, true
		default:
			path.PathMTU, path.isNarrow = result, false
			measured.Wide = append(measured.Wide, peer.String())
		}
		p.known[peer] = path
	}
	return p.findings(podMTU), measured, nil
}

// choose returns the peers to which the next run measures the path, and forgets those that no longer exist. Nodes with
// a finding are measured again soon, but one place remains for others.
func (p *Paths) choose(peers []netip.Addr) []netip.Addr {
	p.run++
	known := map[netip.Addr]measuredPath{}
	for _, peer := range peers {
		known[peer] = p.known[peer]
	}
	p.known = known
	peers = slices.Clone(peers)
	rand.Shuffle(len(peers), func(i, j int) { peers[i], peers[j] = peers[j], peers[i] })
	slices.SortStableFunc(peers, func(a, b netip.Addr) int { return known[a].run - known[b].run })
	var narrow, others []netip.Addr
	for _, peer := range peers {
		if known[peer].isNarrow && len(narrow) < maxPeers-1 {
			narrow = append(narrow, peer)
		} else {
			others = append(others, peer)
		}
	}
	chosen := slices.Concat(narrow, others)
	return chosen[:min(len(chosen), maxPeers)]
}

// findings returns at most one finding about the nodes that large packets do not reach.
func (p *Paths) findings(podMTU int) []report.Finding {
	var narrow []netip.Addr
	for peer, path := range p.known {
		if path.isNarrow {
			narrow = append(narrow, peer)
		}
	}
	if len(narrow) == 0 {
		return nil
	}
	slices.SortFunc(narrow, func(a, b netip.Addr) int {
		return cmp.Or(cmp.Compare(p.known[a].Bytes, p.known[b].Bytes), a.Compare(b))
	})
	worst := narrow[0]
	needed, carried := neededBytes(worst, podMTU), p.known[worst].Bytes
	nodes := "the node with address " + worst.String()
	if more := len(narrow) - 1; more > 0 {
		names := lists.Map(narrow[:min(len(narrow), maxNamedPeers)], netip.Addr.String)
		nodes = fmt.Sprintf("%d nodes, such as %s", len(narrow), strings.Join(names, ", "))
	}
	headers := ipHeader(worst) + 8 // of IP and ICMP
	return []report.Finding{{
		Severity: report.SeverityWarning, Reason: report.PathMTUTooSmall, Subject: "the path MTU",
		Message: fmt.Sprintf("packets of %d bytes do not reach %s: the overlay network needs %d for the pod MTU of %d, "+
			"the path to %s carries %d; connections of pods hang", needed, nodes, needed, podMTU, worst, carried),
		Remedy: report.Remedyf("ping -c 3 -M do -s %d %s # while it gets no reply, raise the MTU of the path, or use a pod "+
			"MTU of at most %d: docs/troubleshooting.md", needed-headers, worst, podMTU-(needed-carried)),
	}}
}
