// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostnet"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition/adapt"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger/resource"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ovs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// Settings of hardening guides with which a host loses its network.
func TestCheckUplinkSettings(t *testing.T) {
	const dual = "192.0.2.7/24 2001:db8::7/64"
	sysctl := func(name, value string) adapt.Plan {
		return adapt.Plan{Sysctls: []ledger.Change{{
			Kind: ledger.Sysctl, Target: name, Reason: "/etc/sysctl.d/x.conf",
			Desired: ledger.State{Present: true, Value: value},
		}}}
	}
	arguments := func(words string, applied bool) adapt.Plan {
		p := adapt.Plan{PayloadArguments: resource.ArgumentChange{Add: []string{words}}, NeedsReboot: true}
		if applied {
			p.KernelArguments = []ledger.Change{{Kind: ledger.KernelArguments}}
		}
		return p
	}
	masked := ledger.Change{
		Kind: ledger.Symlink, Target: "/etc/systemd/network/99-default.link",
		Desired: ledger.State{Present: true, Link: "/dev/null"},
	}
	for name, test := range map[string]struct {
		plan      adapt.Plan
		addresses string
		want      string // in the message; "" for no finding
		refused   bool
	}{
		"IPv6 only":       {sysctl("net.ipv6.conf.all.disable_ipv6", "1"), "2001:db8::7/64", "2001:db8::7/64", true},
		"of the uplink":   {sysctl("net.ipv6.conf.eno1/100.disable_ipv6", "1"), "2001:db8::7/64", "eno1.100", true},
		"of another":      {sysctl("net.ipv6.conf.eno2.disable_ipv6", "1"), "2001:db8::7/64", "", false},
		"both families":   {sysctl("net.ipv6.conf.all.disable_ipv6", "1"), dual, "2001:db8::7/64", false},
		"IPv4 only":       {sysctl("net.ipv6.conf.all.disable_ipv6", "1"), "192.0.2.7/24", "", false},
		"IPv6 enabled":    {sysctl("net.ipv6.conf.all.disable_ipv6", "0"), "2001:db8::7/64", "", false},
		"argument":        {arguments("quiet ipv6.disable=1", true), "2001:db8::7/64", "ipv6.disable=1", true},
		"argument, shown": {arguments("ipv6.disable=1", false), "2001:db8::7/64", "ipv6.disable=1", false},
		"kernel's names":  {arguments("net.ifnames=0", true), dual, "such as eno1 ", true},
		"names of this boot": {
			adapt.Plan{PayloadArguments: resource.ArgumentChange{Add: []string{"net.ifnames=0"}}}, dual, "", false,
		},
		"names are masked": {adapt.Plan{Files: []ledger.Change{masked}}, dual, "such as eno1 ", true},
	} {
		t.Run(name, func(t *testing.T) {
			uplink := hostnet.Link{Name: "eno1.100", Kind: "vlan"}
			for address := range strings.FieldsSeq(test.addresses) {
				uplink.Addresses = append(uplink.Addresses, netip.MustParsePrefix(address))
			}
			network := &ovs.Facts{Links: []hostnet.Link{
				uplink,
				{Name: "eth0", Kind: "device", PermanentMAC: "52:54:00:aa:00:01"},
				{Name: "veth1", Kind: "veth"},
				{Name: "eno1", Kind: "device", PermanentMAC: "52:54:00:aa:00:02"},
			}}
			findings := checkUplinkSettings(&Plan{Plan: &test.plan, Migration: &ovs.Migration{Uplink: uplink.Name}}, network)
			if test.want == "" {
				if len(findings) > 0 {
					t.Errorf("findings: %+v", findings)
				}
				return
			}
			if len(findings) != 1 || !strings.Contains(findings[0].Message, test.want) ||
				(report.Refusal(findings) != nil) != test.refused {
				t.Errorf("got %+v, want %q, refused: %t", findings, test.want, test.refused)
			}
		})
	}
}
