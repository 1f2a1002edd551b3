// SPDX-License-Identifier: Apache-2.0

package ovs

import (
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/networkmanager"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/packetfilter"
)

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
	f := facts(t, "dhcp")
	f.HostRules = &HostRules{
		Uplink: "eth0", Filter: &packetfilter.Ruleset{},
		Scripts: readScripts("eth0", dir+"/ifcfg-System_eth0", dir+"/[0-9]*", dir+"/*/*"),
	}
	migration, err := Plan(f, Options{})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, warning := range migration.Warnings {
		got = append(got, strings.ReplaceAll(warning.Message, dir+"/", ""))
	}
	const what = " applies to eth0 and not to br-ex, which has its addresses"
	if diff := cmp.Diff([]string{"10-routes" + what, "pre-up.d/mtu" + what, "rule-System_eth0" + what}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A file in /etc masks the file of the same name in other directories, and the order is by name.
func TestFilesOfSysctls(t *testing.T) {
	root := t.TempDir()
	for _, name := range []string{"etc/20-a.conf", "lib/10-b.conf", "lib/20-a.conf", "lib/30-c.conf"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(root, name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(root, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want := []string{root + "/lib/10-b.conf", root + "/etc/20-a.conf", root + "/lib/30-c.conf"}
	if diff := cmp.Diff(want, namedFiles(root+"/etc/*.conf", root+"/lib/*.conf")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestRoutesOfScripts(t *testing.T) {
	f := facts(t, "dhcp")
	f.HostRules = &HostRules{Uplink: "eth0", Filter: &packetfilter.Ruleset{}}
	for _, text := range []string{
		"10.20.0.0/16 via 192.0.2.254 metric 50 linkdown", "10.21.0.7 via 192.0.2.254 src 192.0.2.50 linkdown mtu 1400",
		"default via 198.51.100.1 table 100 onlink", "10.22.0.0/16 scope link", "10.90.0.0/16 via 192.0.2.9",
	} {
		f.HostRules.Routes = append(f.HostRules.Routes, ScriptRoute{Family: networkmanager.IPv4, Text: text})
	}
	f.HostRules.Routes = append(f.HostRules.Routes,
		ScriptRoute{Family: networkmanager.IPv6, Text: "2001:db8:9::/48 via 2001:db8::1 metric 1024 pref medium"})
	for i := range f.Profiles {
		f.Profiles[i].Settings.SetIP(networkmanager.IPv4, networkmanager.IP{
			Routes: []networkmanager.Route{{Destination: netip.MustParsePrefix("10.90.0.0/16")}},
		})
	}
	migration, err := Plan(f, Options{})
	if err != nil || len(migration.Warnings) != 1 {
		t.Fatalf("%v, warnings %v", err, migration.Warnings)
	}
	const modify = "nmcli connection modify uuid UUID +"
	want := modify + "ipv4.routes '10.20.0.0/16 192.0.2.254 50'\n" +
		modify + "ipv4.routes '10.21.0.7/32 192.0.2.254 src=192.0.2.50 mtu=1400'\n" +
		modify + "ipv4.routes '0.0.0.0/0 198.51.100.1 table=100 onlink=true'\n" +
		modify + "ipv4.routes '10.22.0.0/16'\n" +
		modify + "ipv6.routes '2001:db8:9::/48 2001:db8::1 1024'"
	got := strings.ReplaceAll(string(migration.Warnings[0].Remedy), migration.Backup.UUID, "UUID")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
