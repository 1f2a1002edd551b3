package main

import (
	"bytes"
	"net/netip"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hcp-node-agent/hcp-node-agent/internal/boot"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/openvswitch"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/systemd"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ovs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ovs/bootunits"
	"github.com/hcp-node-agent/hcp-node-agent/internal/status"
)

func TestPrintStatus(t *testing.T) {
	made := time.Date(2026, 1, 2, 3, 4, 5, 0, time.Local)
	document := status.Document{
		Phase: "joined", Join: &status.Join{NodeName: "worker-7", NodePool: "clusters/demo", APIServer: "https://api:6443", Finished: made},
		Units: map[string]systemd.UnitState{
			"kubelet.service": {Load: "loaded", Active: "active", File: "enabled"}, bootunits.NodeIPUnit: {Load: "loaded", Active: "failed", File: "enabled"},
		},
		Bridge: &ovs.Status{
			Present: true, Exists: true, Uplink: "eth0", Addresses: []netip.Prefix{netip.MustParsePrefix("192.0.2.7/24")}, MTU: 1500,
			Ports: []openvswitch.Interface{{Name: "eth0"}}, NodeIPs: []netip.Addr{netip.MustParseAddr("192.0.2.7")},
			Migration: &ovs.PublishedRecord{Uplink: "eth0", MigratedAt: made, Outage: &ovs.PublishedOutage{LongestSeconds: 0.04, Sent: 10, Answered: 9}},
		},
	}
	const want = `worker-7 joined NodePool clusters/demo of https://api:6443 at 2026-01-02T03:04:05Z
  kubelet.service          active, enabled
  hcp-node-agent-node-ip.service failed: kubelet uses the address of an earlier boot; see: journalctl -b -u hcp-node-agent-node-ip.service
  br-ex                    eth0 is in br-ex with 192.0.2.7/24
                           ports eth0 (system)
                           MTU 1500, node IP 192.0.2.7
                           eth0 was attached to br-ex at 2026-01-02T03:04:05Z; network interruption 0.04 s (9 of 10 echo replies received)
  changes on this host     0
`
	var out bytes.Buffer
	printStatus(&out, document)
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestPrintNodeIP(t *testing.T) {
	one, two := netip.MustParseAddr("192.0.2.7"), netip.MustParseAddr("2001:db8::7")
	for want, recorded := range map[string]boot.NodeIPResult{
		"no join yet; nothing was changed\n":                          {Note: "no join yet"},
		"the node address is 192.0.2.7 and 2001:db8::7 (unchanged)\n": {Addresses: []netip.Addr{one, two}, Before: []netip.Addr{one, two}},
		"the node address changed to 192.0.2.7 from no address; if kubelet and CRI-O are already running: systemctl restart crio kubelet\n": {Addresses: []netip.Addr{one}, Changed: true},
	} {
		var out bytes.Buffer
		if printNodeIP(&out, recorded); out.String() != want {
			t.Errorf("%q, want %q", out.String(), want)
		}
	}
}
