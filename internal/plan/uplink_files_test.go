// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"strings"
	"testing"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostnet"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition/adapt"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ovs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

func TestCheckUplinkFiles(t *testing.T) {
	const conf, profile = "/etc/NetworkManager/conf.d/a.conf", "/etc/NetworkManager/system-connections/a.nmconnection"
	for name, test := range map[string]struct {
		path, content string
		want          string // in the message; "" for no finding
		refused       bool
	}{
		"of releases": {
			conf, "[keyfile]\nunmanaged-devices=interface-name:br0;interface-name:tun0;interface-name:veth*\n", "", false,
		},
		"uplink by name": {
			conf, "[keyfile]\nunmanaged-devices=interface-name:veth*;interface-name:eth0\n", "manage eth0", true,
		},
		"uplink by pattern":    {conf, "[keyfile]\nunmanaged-devices+=interface-name:eth*\n", "manage eth0", true},
		"uplink by exact name": {conf, "[keyfile]\nunmanaged-devices=interface-name:=eth0\n", "manage eth0", true},
		"uplink by tilde":      {conf, "[keyfile]\nunmanaged-devices=interface-name:~eth?\n", "manage eth0", true},
		"name alone":           {conf, "[keyfile]\nunmanaged-devices=eth1,eth0\n", "manage eth0", true},
		"switched off":         {conf, "[device-x]\nmatch-device=eth0\nmanaged=Off\n", "manage eth0", true},
		"main file": {
			"/etc/NetworkManager/NetworkManager.conf", "[keyfile]\nunmanaged-devices=br-ex\n", "manage br-ex", true,
		},
		"by MAC":       {conf, "[keyfile]\nunmanaged-devices=mac:52:54:00:AA:00:01\n", "manage eth0", true},
		"by MAC alone": {conf, "[keyfile]\nunmanaged-devices=52:54:00:aa:00:01\n", "manage eth0", true},
		"br-ex":        {conf, "[keyfile]\nunmanaged-devices=interface-name:br-*\n", "manage br-ex", true},
		"all but one":  {conf, "[keyfile]\nunmanaged-devices=*,except:interface-name:eth1\n", "manage eth0", true},
		"all but the uplink": {
			conf, "[keyfile]\nunmanaged-devices=*;except:interface-name:eth0;except:interface-name:br-ex\n", "", false,
		},
		"all but those":   {conf, "[keyfile]\nunmanaged-devices=except:interface-name:eth1\n", "manage eth0", true},
		"another section": {conf, "[device-x]\nmatch-device=type:ethernet\nmanaged=0\n", "manage eth0", true},
		"another driver":  {conf, "[device]\nmatch-device=driver:veth\nmanaged=0\n", "", false},
		"managed":         {conf, "[device]\nmatch-device=interface-name:eth0\nmanaged=1\n", "", false},
		"comment":         {conf, "[keyfile]\n#unmanaged-devices=*\n", "", false},
		"profile":         {profile, "[connection]\nid=a\ninterface-name=eth0\n", "profile of the uplink eth0", false},
		"profile by MAC": {
			profile, "[connection]\nid=a\n[ethernet]\nmac-address=52:54:00:AA:00:01\n", "profile of the uplink eth0", false,
		},
		"without autoconnect":  {profile, "[connection]\ninterface-name=eth0\nautoconnect=false\n", "", false},
		"of another interface": {profile, "[connection]\ninterface-name=eth1\n", "", false},
	} {
		t.Run(name, func(t *testing.T) {
			network := &ovs.Facts{Links: []hostnet.Link{{Name: "eth0", Kind: "device", MAC: "52:54:00:aa:00:01"}}}
			p := &Plan{
				Plan:      &adapt.Plan{Files: []ledger.Change{ledger.FileChange(test.path, "a test", test.content)}},
				Migration: &ovs.Migration{Uplink: "eth0"},
			}
			findings := checkUplinkFiles(p, network)
			if test.want == "" {
				if len(findings) > 0 {
					t.Fatalf("findings: %+v", findings)
				}
				return
			}
			if len(findings) == 0 || !strings.Contains(findings[0].Message, test.want) ||
				(report.Refusal(findings) != nil) != test.refused {
				t.Errorf("got %+v, want %q", findings, test.want)
			}
		})
	}
}
