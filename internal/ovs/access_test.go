// SPDX-License-Identifier: Apache-2.0

package ovs

import (
	"errors"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/godbus/dbus/v5"
	"github.com/google/go-cmp/cmp"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/firewalld"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostinfo"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/networkmanager"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/packetfilter"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// withRules returns the facts of a host with DHCP whose input chain drops what rules of iptables do not accept.
func withRules(t *testing.T, rules ...string) Facts {
	t.Helper()
	saved := "*filter\n:INPUT DROP [0:0]\n-A INPUT -i lo -j ACCEPT\n"
	for _, rule := range rules {
		saved += "-A INPUT " + rule + "\n"
	}
	filter, err := packetfilter.Parse(func(program string, _ ...string) (string, error) {
		return map[string]string{"iptables-save": saved + "COMMIT\n"}[program], nil
	}, func(string) bool { return false })
	if err != nil {
		t.Fatal(err)
	}
	f := facts(t, "dhcp")
	f.HostRules = &HostRules{Uplink: "eth0", Filter: filter, SSHPorts: []uint16{22}}
	return f
}

func TestPlanRefusesLostAccess(t *testing.T) {
	const rule = "-i eth0 -p tcp -m tcp --dport 22 -j ACCEPT"
	only := withRules(t, rule)
	changed := func(change func(*HostRules)) Facts {
		f, rules := only, *only.HostRules
		change(&rules)
		f.HostRules = &rules
		return f
	}
	for name, test := range map[string]struct {
		facts   Facts
		options Options
		refused bool
		kept    int // connections that are verified on br-ex
	}{
		"only on the uplink":           {facts: only, refused: true},
		"confirmed":                    {facts: only, options: Options{IgnorePacketFilter: true}},
		"on br-ex too":                 {facts: withRules(t, rule, "-i br-ex -p tcp -m tcp --dport 22 -j ACCEPT"), kept: 1},
		"any interface":                {facts: withRules(t, "-p tcp -m tcp --dport 22 -j ACCEPT"), kept: 1},
		"another rule for one network": {facts: withRules(t, rule, "-s 198.51.100.0/24 -j ACCEPT"), refused: true},
		"one network": {
			facts: withRules(t, "-s 198.51.100.0/24 -p tcp -m tcp --dport 22 -j ACCEPT", "-i eth0 -p udp -j ACCEPT"), kept: 1,
		},
		"no way in before":     {facts: withRules(t, "-i eth0 -p tcp -m tcp --dport 80 -j ACCEPT")},
		"rules are not known":  {facts: changed(func(r *HostRules) { r.Filter, r.FilterError = nil, errors.New("x") })},
		"another uplink":       {facts: changed(func(r *HostRules) { r.Uplink = "eth1" })},
		"sshd on another port": {facts: changed(func(r *HostRules) { r.SSHPorts = []uint16{2222} })},
		"rules were not read":  {facts: facts(t, "dhcp")},
	} {
		migration, err := Plan(test.facts, test.options)
		if refused := err != nil; refused != test.refused || len(migration.Access) != test.kept {
			t.Errorf("%s: error %v, access %v", name, err, migration.Access)
		}
		if early := CheckAccess(test.facts, test.options); (early != nil) != test.refused {
			t.Errorf("%s: CheckAccess() = %v", name, early)
		}
		if err == nil {
			continue
		}
		others := strings.Contains(err.Error(), "from networks that no rule names")
		if others != strings.Contains(name, "network") {
			t.Errorf("%s: %v", name, err)
		}
		want := "iptables -t filter -I INPUT 2 -i br-ex -p tcp -m tcp --dport 22 -j ACCEPT"
		if report.CodeOf(err) != report.Refused || !strings.Contains(err.Error(), "port 22 of 192.0.2.") ||
			report.RemedyOf(err).Command() != want ||
			!strings.Contains(report.RemedyOf(err).Note(), "such as /etc/sysconfig/iptables\n") ||
			!strings.Contains(report.RemedyOf(err).Note(), "--ignore-packet-filter") {
			t.Errorf("%s: %v (code %d)\n%s", name, err, report.CodeOf(err), report.RemedyOf(err))
		}
	}
}

// br-ex gets the zone of the uplink's profile, else the default zone, and firewalld adds its own rules.
func TestAccessInZones(t *testing.T) {
	content, err := os.ReadFile("../host/packetfilter/testdata/firewalld-zones.json")
	if err != nil {
		t.Fatal(err)
	}
	filter, err := packetfilter.Parse(func(program string, arguments ...string) (string, error) {
		if program == "nft" && arguments[0] == "--json" {
			return string(content), nil
		}
		return "", nil
	}, func(string) bool { return false })
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		zone    firewalld.Zone // of the uplink
		profile string
		refused bool
		warning string
	}{
		"zone of the profile": {firewalld.Zone{Name: "internal", Default: "public"}, "internal", false, ""},
		"zone of firewalld's files": {
			firewalld.Zone{Name: "internal", Default: "public"}, "", true, "",
		},
		"default zone": {firewalld.Zone{Name: "internal", Default: "internal"}, "", false, ""},
		"zone not in use": {
			firewalld.Zone{Name: "internal", Default: "public"}, "dmz", false, "br-ex will be in the zone dmz",
		},
	} {
		f := facts(t, "dhcp")
		f.HostRules = &HostRules{Uplink: "eth0", Filter: filter, SSHPorts: []uint16{22}, Zone: &test.zone}
		for i := range f.Profiles {
			f.Profiles[i].Settings.Set("connection", "zone", test.profile)
		}
		migration, err := Plan(f, Options{})
		if (err != nil) != test.refused {
			t.Errorf("%s: %v", name, err)
		}
		if test.refused {
			remedy := report.RemedyOf(err).Command()
			if !strings.HasPrefix(remedy, "nmcli connection modify uuid ") ||
				!strings.HasSuffix(remedy, " connection.zone internal") {
				t.Errorf("%s: remedy %q", name, remedy)
			}
			continue
		}
		warnings := ""
		for _, warning := range migration.Warnings {
			warnings += warning.Message
		}
		if !strings.Contains(warnings, test.warning) || (warnings == "") != (test.warning == "") {
			t.Errorf("%s: warnings %q", name, warnings)
		}
	}
}

// firewalld loads rules of iptables from a file of its own.
func TestFileOfDirectRules(t *testing.T) {
	f := withRules(t, "-i eth0 -p tcp -m tcp --dport 22 -j ACCEPT")
	f.HostRules.Zone = &firewalld.Zone{Name: "public", Default: "public"}
	note := report.RemedyOf(CheckAccess(f, Options{})).Note()
	if !strings.Contains(note, "such as /etc/firewalld/direct.xml") {
		t.Errorf("note %q", note)
	}
}

func TestSSHPorts(t *testing.T) {
	socket := func(address, process, service string) hostinfo.Socket {
		return hostinfo.Socket{Network: "tcp", Address: netip.MustParseAddrPort(address), Process: process, Service: service}
	}
	for name, test := range map[string]struct {
		sockets []hostinfo.Socket
		want    []uint16
	}{
		"none": {nil, []uint16{22}},
		"both families": {
			[]hostinfo.Socket{socket("0.0.0.0:22", "sshd", "sshd.service"), socket("[::]:22", "sshd", "sshd.service")},
			[]uint16{22},
		},
		"two ports": {
			[]hostinfo.Socket{socket("0.0.0.0:22", "sshd", ""), socket("0.0.0.0:2222", "sshd-real", "sshd.service")},
			[]uint16{22, 2222},
		},
		"other port": {
			[]hostinfo.Socket{socket("192.0.2.7:2222", "sshd", ""), socket("0.0.0.0:80", "httpd", "")}, []uint16{2222},
		},
		"socket unit": {[]hostinfo.Socket{socket("[::]:22", "systemd", "")}, []uint16{22}},
		"forwarding": {
			[]hostinfo.Socket{socket("127.0.0.1:6010", "sshd", ""), socket("0.0.0.0:2222", "sshd", "")}, []uint16{2222},
		},
	} {
		if got := sshPorts(test.sockets); !slices.Equal(got, test.want) {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestHostRulesOfFiles(t *testing.T) {
	dir := t.TempDir()
	write := func(name, content string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("a.conf", "# net.ipv4.conf.eth0.proxy_arp = 1\n-net.ipv4.conf.eth0.rp_filter=0\n"+
		"net/ipv6/conf/eth0/accept_ra = 2\n"+
		"net.ipv4.conf.all.rp_filter = 1\nnet.ipv4.conf.eth0/100.rp_filter = 1\nnet.ipv4.conf.eth0.log_martians = 1\n"+
		"net.ipv4.neigh.eth0.gc_stale_time = 60\nnet.ipv4.conf.br-ex.log_martians = 0\nkernel.eth0.a.b.c = 1\n"+
		"net.ipv4.conf.eth*.arp_ignore = 1\nnet.ipv4.conf.*.arp_announce = 2\nnet.ipv4.conf.*.rp_filter = 1\n")
	write("b.conf", "net.ipv4.conf.eth0.rp_filter = 2\n")
	want := []string{
		"net.ipv6.conf.br-ex.accept_ra = 2", "net.ipv4.neigh.br-ex.gc_stale_time = 60", "net.ipv4.conf.br-ex.arp_ignore = 1",
		"net.ipv4.conf.br-ex.rp_filter = 2",
	}
	if diff := cmp.Diff(want, readSysctls("eth0", dir+"/*.conf", dir+"/none")); diff != "" {
		t.Errorf("sysctls (-want +got):\n%s", diff)
	}
	vlan := []string{"net.ipv4.conf.br-ex.rp_filter = 1", "net.ipv4.conf.br-ex.arp_ignore = 1"}
	routed := networkmanager.Settings{}
	if got := sysctlsForBridge(want, routed); slices.Contains(got, want[0]) || len(got) != len(want)-1 {
		t.Errorf("sysctls of br-ex: %v", got)
	}
	if routed.Set("ipv6", "method", "ignore"); len(sysctlsForBridge(want, routed)) != len(want) {
		t.Error("a profile that leaves IPv6 to the kernel keeps no sysctl of the kernel")
	}
	if diff := cmp.Diff(vlan, readSysctls("eth0.100", dir+"/*.conf")); diff != "" {
		t.Errorf("sysctls of a VLAN (-want +got):\n%s", diff)
	}
	const mac = "52:54:00:Aa:00:01"
	write("alone.link", "[Match]\nMACAddress="+mac+"\n[Link]\nName=lan0\n")
	write("type.link", "[Match]\nMACAddress=02:00:00:00:00:01 "+mac+"\nType=ether\n")
	write("named.link", "[Match]\nOriginalName=eth*\nMACAddress="+mac+"\n")
	write("driver.link", "[Match]\nMACAddress="+mac+"\nDriver=virtio_net\n")
	write("blanks.link", "[Match]\nMACAddress = "+mac+"\n")
	write("permanent.link", "[Match]\nPermanentMACAddress="+mac+"\n")
	write("other.link", "[Match]\nMACAddress=52:54:00:aa:00:02\n[Link]\nMACAddress=52:54:00:aa:00:03\n")
	write("70.rules", `SUBSYSTEM=="net", DRIVERS=="?*", ATTR{address}=="52:54:00:aa:00:01", NAME="lan0"`+"\n")
	write("71.rules", `SUBSYSTEM=="net", ACTION=="add", ATTR{address}=="52:54:00:aa:00:01", NAME="lan0"`+"\n")
	write("73.rules", `SUBSYSTEM=="net", ATTR{address}=="52:54:00:aa:00:01", NAME:="lan0"`+"\n")
	write("72.rules", `SUBSYSTEM=="net", ATTR{address}=="52:54:00:aa:00:01", ENV{NM_UNMANAGED}="1"`+"\n")
	files := readMatchFiles("52:54:00:aa:00:01", dir+"/*.link", dir+"/*.rules")
	var remedies []string
	for _, file := range files {
		file.Driver = "virtio_net"
		remedies = append(remedies, strings.ReplaceAll(string(file.remedy()), dir+"/", ""))
	}
	wantRemedies := []string{
		`sed -i '/^\[Match\]/a Driver=virtio_net' alone.link`,
		`sed -i '/^\[Match\]/a Driver=virtio_net' blanks.link`,
		`sed -i '/^\[Match\]/a Driver=virtio_net' type.link`,
		`sed -i 's/ATTR{address}=="52:54:00:aa:00:01"/KERNEL!="br-ex", &/' 71.rules`,
		`sed -i 's/ATTR{address}=="52:54:00:aa:00:01"/KERNEL!="br-ex", &/' 73.rules`,
	}
	if diff := cmp.Diff(wantRemedies, remedies); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	for _, file := range files {
		file.Driver = "virtio_net"
		if output, err := exec.CommandContext(t.Context(), "sh", "-c", string(file.remedy())).CombinedOutput(); err != nil {
			t.Errorf("%s: %v: %s", file.remedy(), err, output)
		}
	}
	if left := readMatchFiles("52:54:00:aa:00:01", dir+"/*.link", dir+"/*.rules"); len(left) > 0 {
		t.Errorf("after the remedies: %v", left)
	}
}

func TestPolicyRulesOfTheUplink(t *testing.T) {
	const output = "0:\tfrom all lookup local\n90:\tfrom all iif eth0 lookup 90\n" +
		"100:\tfrom 10.0.0.0/8 iif eth0 [detached] lookup 100 proto static\n" +
		"101:\tfrom all oif eth01 lookup 101\n" +
		"102:\tfrom all oif eth0 lookup main suppress_prefixlength 0\n"
	f := facts(t, "dhcp")
	f.HostRules = &HostRules{
		Uplink: "eth0", Filter: &packetfilter.Ruleset{}, PolicyRules: rulesOfLink(parsePolicyRules("-4", output), "eth0"),
	}
	for i := range f.Profiles {
		own := map[string]dbus.Variant{"priority": dbus.MakeVariant(uint32(90))}
		f.Profiles[i].Settings.Set("ipv4", "routing-rules", []map[string]dbus.Variant{own})
	}
	migration, err := Plan(f, Options{})
	if err != nil || len(migration.Warnings) != 1 {
		t.Fatalf("%v, warnings %v", err, migration.Warnings)
	}
	want := "ip -4 rule add priority 100 from 10.0.0.0/8 iif br-ex lookup 100 proto static\n" +
		"ip -4 rule add priority 102 from all oif br-ex lookup main suppress_prefixlength 0"
	if diff := cmp.Diff(want, migration.Warnings[0].Remedy.Command()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
