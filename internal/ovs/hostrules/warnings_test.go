// SPDX-License-Identifier: Apache-2.0

package hostrules

import (
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/godbus/dbus/v5"
	"github.com/google/go-cmp/cmp"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostnet"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/networkmanager"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/packetfilter"
)

// newUplink returns eth0 with a profile that sets nothing.
func newUplink() Uplink {
	settings := networkmanager.Settings{}
	settings.Set("connection", "uuid", "UUID")
	return Uplink{Link: hostnet.Link{Name: "eth0"}, Profile: networkmanager.Profile{Settings: settings}}
}

func TestScriptsOfTheUplink(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "pre-up.d"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{
		"10-routes":         "#!/bin/sh\n[ \"$1\" = eth0 ] && [ \"$2\" = up ] && ip route add 10.0.0.0/8 via 192.0.2.254\n",
		"20-comment":        "#!/bin/sh\n# eth0 is the uplink\nexit 0\n",
		"30-others":         "#!/bin/sh\ncase \"$1\" in eth01|veth0|eth0.100|lab-eth0) ;; esac\n",
		"pre-up.d/mtu":      "case \"$DEVICE_IFACE\" in\n\teth0|eth1) ethtool -K \"$1\" gro off;;\nesac\n",
		"ifcfg-System_eth0": "DEVICE=eth0\n",
		"rule-System_eth0":  "from 192.0.2.50 table 100\n",
		"rule-eth1":         "from 198.51.100.50 table 101\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	rules := Rules{
		Uplink: "eth0", Filter: &packetfilter.Ruleset{},
		Scripts: readScripts("eth0", dir+"/ifcfg-System_eth0", dir+"/[0-9]*", dir+"/*/*"),
	}
	var got []string
	for _, warning := range rules.Warnings(newUplink(), nil) {
		got = append(got, strings.ReplaceAll(warning.Message, dir+"/", ""))
	}
	const what = " applies to eth0 and not to br-ex, which has its addresses"
	if diff := cmp.Diff([]string{"10-routes" + what, "pre-up.d/mtu" + what, "rule-System_eth0" + what}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestPolicyRulesOfTheUplink(t *testing.T) {
	const output = "0:\tfrom all lookup local\n90:\tfrom all iif eth0 lookup 90\n" +
		"100:\tfrom 10.0.0.0/8 iif eth0 [detached] lookup 100 proto static\n" +
		"101:\tfrom all oif eth01 lookup 101\n" +
		"102:\tfrom all oif eth0 lookup main suppress_prefixlength 0\n"
	rules := Rules{
		Uplink: "eth0", Filter: &packetfilter.Ruleset{}, PolicyRules: rulesOfLink(parsePolicyRules("-4", output), "eth0"),
	}
	uplink := newUplink()
	own := map[string]dbus.Variant{"priority": dbus.MakeVariant(uint32(90))}
	uplink.Profile.Settings.Set("ipv4", "routing-rules", []map[string]dbus.Variant{own})
	warnings := rules.Warnings(uplink, nil)
	if len(warnings) != 1 {
		t.Fatalf("warnings %v", warnings)
	}
	want := "ip -4 rule add priority 100 from 10.0.0.0/8 iif br-ex lookup 100 proto static\n" +
		"ip -4 rule add priority 102 from all oif br-ex lookup main suppress_prefixlength 0"
	if diff := cmp.Diff(want, warnings[0].Remedy.Command()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestRoutesOfScripts(t *testing.T) {
	rules := Rules{Uplink: "eth0", Filter: &packetfilter.Ruleset{}}
	for _, text := range []string{
		"10.20.0.0/16 via 192.0.2.254 metric 50 linkdown", "10.21.0.7 via 192.0.2.254 src 192.0.2.50 linkdown mtu 1400",
		"default via 198.51.100.1 table 100 onlink", "10.22.0.0/16 scope link", "10.90.0.0/16 via 192.0.2.9",
	} {
		rules.Routes = append(rules.Routes, ScriptRoute{Family: networkmanager.IPv4, Text: text})
	}
	rules.Routes = append(rules.Routes,
		ScriptRoute{Family: networkmanager.IPv6, Text: "2001:db8:9::/48 via 2001:db8::1 metric 1024 pref medium"})
	uplink := newUplink()
	uplink.Profile.Settings.SetIP(networkmanager.IPv4, networkmanager.IP{
		Routes: []networkmanager.Route{{Destination: netip.MustParsePrefix("10.90.0.0/16")}},
	})
	warnings := rules.Warnings(uplink, nil)
	if len(warnings) != 1 {
		t.Fatalf("warnings %v", warnings)
	}
	const modify = "nmcli connection modify uuid UUID +"
	want := modify + "ipv4.routes '10.20.0.0/16 192.0.2.254 50'\n" +
		modify + "ipv4.routes '10.21.0.7/32 192.0.2.254 src=192.0.2.50 mtu=1400'\n" +
		modify + "ipv4.routes '0.0.0.0/0 198.51.100.1 table=100 onlink=true'\n" +
		modify + "ipv4.routes '10.22.0.0/16'\n" +
		modify + "ipv6.routes '2001:db8:9::/48 2001:db8::1 1024'"
	if diff := cmp.Diff(want, string(warnings[0].Remedy)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
