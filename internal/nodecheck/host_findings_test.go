// SPDX-License-Identifier: Apache-2.0

package nodecheck

import (
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/hcp-node-agent/hcp-node-agent/internal/nodeip"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

func TestFindings(t *testing.T) {
	address := netip.MustParseAddr
	before := nodeip.Addresses{IPv4: address("192.0.2.7"), IPv6: address("2001:db8::7")}
	after := nodeip.Addresses{IPv4: address("192.0.2.9"), IPv6: address("2001:db8::7")}
	joined := HostFacts{
		NodeName: "worker-0", CurrentName: "worker-0", Hostname: "Worker-0",
		Configured: before, Suitable: before, Existing: append(before.All(), address("127.0.0.1")), Running: before,
	}
	for name, test := range map[string]struct {
		change func(*HostFacts)
		want   []report.Reason
		text   string // in the first message or remedy
	}{
		"unchanged":       {func(*HostFacts) {}, nil, ""},
		"name is unknown": {func(f *HostFacts) { f.CurrentName = "" }, nil, ""},
		"host name": {
			func(f *HostFacts) { f.CurrentName, f.Hostname = "renamed", "Renamed" },
			[]report.Reason{report.HostNameChanged},
			"hostnamectl set-hostname worker-0 && systemctl restart kubelet",
		},
		"kubelet's unit": {
			func(f *HostFacts) { f.CurrentName = "other" }, []report.Reason{report.HostNameChanged}, "hcp-node-agent join",
		},
		"additional address": {
			func(f *HostFacts) { f.Existing = append(f.Existing, address("192.0.2.9")); f.Suitable = after }, nil, "",
		},
		"changed address": {
			func(f *HostFacts) { f.Existing, f.Suitable = after.All(), after },
			[]report.Reason{report.NodeAddressChanged},
			"changed to 192.0.2.9, 2001:db8::7 from 192.0.2.7, 2001:db8::7",
		},
		"one family lost": {
			func(f *HostFacts) { f.Suitable = nodeip.Addresses{IPv4: before.IPv4}; f.Existing = f.Suitable.All() },
			[]report.Reason{report.NodeAddressChanged},
			"changed to 192.0.2.7 from 192.0.2.7, 2001:db8::7",
		},
		"no address": {
			func(f *HostFacts) { f.Existing, f.Suitable = nil, nodeip.Addresses{} },
			[]report.Reason{report.NodeAddressMissing},
			"ip -br address",
		},
		"image rolled back": {
			func(f *HostFacts) { f.RolledBack = true }, []report.Reason{report.HostRolledBack}, "whose /etc is from before",
		},
		"kubelet not restarted": {
			func(f *HostFacts) { f.Running = after },
			[]report.Reason{report.NodeAddressChanged},
			"systemctl restart crio kubelet",
		},
		"kubelet is not running": {func(f *HostFacts) { f.Running = nodeip.Addresses{} }, nil, ""},
		"not managed by the agent": {
			func(f *HostFacts) { f.Configured, f.Existing = nodeip.Addresses{}, nil }, nil, "",
		},
		"both": {
			func(f *HostFacts) {
				f.CurrentName, f.Hostname = "renamed", "renamed"
				f.Existing, f.Suitable = after.All(), after
			},
			[]report.Reason{report.HostNameChanged, report.NodeAddressChanged},
			"changed to renamed",
		},
	} {
		t.Run(name, func(t *testing.T) {
			facts := joined
			test.change(&facts)
			var reasons []report.Reason
			text := ""
			for _, f := range facts.Findings() {
				reasons = append(reasons, f.Reason)
				text += f.Message + "\n" + string(f.Remedy) + "\n"
				if f.Severity != report.SeverityProblem || f.Subject == "" || f.Remedy == "" {
					t.Errorf("incomplete: %+v", f)
				}
			}
			if !slices.Equal(reasons, test.want) || !strings.Contains(text, test.text) {
				t.Errorf("%v, want %v with %q:\n%s", reasons, test.want, test.text, text)
			}
		})
	}
}
