// SPDX-License-Identifier: Apache-2.0

package ovs

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/firewalld"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/packetfilter"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ovs/hostrules"
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
	f.HostRules = &hostrules.Rules{Uplink: "eth0", Filter: filter, SSHPorts: []uint16{22}}
	return f
}

func TestPlanRefusesLostAccess(t *testing.T) {
	const rule = "-i eth0 -p tcp -m tcp --dport 22 -j ACCEPT"
	only := withRules(t, rule)
	changed := func(change func(*hostrules.Rules)) Facts {
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
		"rules are not known":  {facts: changed(func(r *hostrules.Rules) { r.Filter, r.FilterError = nil, errors.New("x") })},
		"another uplink":       {facts: changed(func(r *hostrules.Rules) { r.Uplink = "eth1" })},
		"sshd on another port": {facts: changed(func(r *hostrules.Rules) { r.SSHPorts = []uint16{2222} })},
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
		f.HostRules = &hostrules.Rules{Uplink: "eth0", Filter: filter, SSHPorts: []uint16{22}, Zone: &test.zone}
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
