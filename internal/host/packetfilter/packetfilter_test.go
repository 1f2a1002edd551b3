// SPDX-License-Identifier: Apache-2.0

package packetfilter

import (
	"net/netip"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func TestAccepts(t *testing.T) { testAccepts(t, cases) }

func testAccepts(t *testing.T, cases map[string]acceptCase) {
	t.Helper()
	requirePrograms(t)
	for name, test := range cases {
		t.Run(name, func(t *testing.T) {
			inNamespace(t)
			load(t, test.rules)
			rules := read(t)
			uplink := Connection{Link: "eth0", Address: netip.MustParseAddr("192.0.2.50"), Port: 22}
			bridge := uplink
			bridge.Link = "br-ex"
			if got := rules.Accepts(uplink); got != test.uplink {
				t.Errorf("accepted over eth0: %t\n%s", got, test.rules)
			}
			if got := rules.Accepts(bridge); got != test.bridge {
				t.Errorf("accepted over br-ex: %t\n%s", got, test.rules)
			}
			var commands []string
			for _, reference := range rules.References("eth0", "br-ex") {
				commands = append(commands, reference.Command)
			}
			load(t, strings.Join(commands, "\n"))
			if !test.command {
				return
			}
			if rules = read(t); !rules.Accepts(bridge) {
				t.Errorf("not accepted over br-ex after %q", commands)
			}
			if left := rules.References("eth0", "br-ex"); len(left) > 0 {
				t.Errorf("still only for eth0: %+v", left)
			}
		})
	}
}

func requirePrograms(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("a network namespace needs root")
	}
	for _, program := range []string{"iptables-nft", "nft", "ip"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("%v (Debian: apt-get install iptables nftables iproute2)", err)
		}
	}
}

// inNamespace moves the test into a network namespace with the interface eth0. The thread ends with the test.
func inNamespace(t *testing.T) {
	t.Helper()
	runtime.LockOSThread()
	if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
		t.Fatal(err)
	}
	load(t, "ip tuntap add eth0 mode tap")
}

// load loads rules of nftables, or runs a script.
func load(t *testing.T, rules string) {
	t.Helper()
	command := exec.CommandContext(t.Context(), "sh", "-e")
	if strings.HasPrefix(rules, "table ") {
		command = exec.CommandContext(t.Context(), "nft", "-f", "-")
	}
	command.Stdin = strings.NewReader(rules)
	if output, err := command.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s\n%s", err, output, rules)
	}
}

func read(t *testing.T) *Ruleset {
	t.Helper()
	rules, err := Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return rules
}

// A host in a network that no rule names is accepted only where no rule requires the network.
func TestAcceptsAnyNetwork(t *testing.T) {
	requirePrograms(t)
	inNamespace(t)
	load(t, `table inet filter {
	set admins { type ipv4_addr; flags interval; elements = { 198.51.100.0/24 }; }
	chain input {
		type filter hook input priority 0; policy drop;
		ip saddr 198.51.100.7 accept
		ip saddr @admins accept
		iifname "eth0" ip saddr != 203.0.113.0/24 accept
		iifname "eth1" ip saddr 0.0.0.0/0 accept
	}
}`)
	rules := read(t)
	for link, unlisted := range map[string]bool{"eth0": true, "eth1": true, "br-ex": false} {
		c := Connection{Link: link, Address: netip.MustParseAddr("192.0.2.50"), Port: 22}
		if !rules.Accepts(c) {
			t.Errorf("%s: a host in a network of the rules is not accepted", link)
		}
		if c.Unlisted = true; rules.Accepts(c) != unlisted {
			t.Errorf("%s: a host in another network is accepted: %t", link, !unlisted)
		}
	}
}

// firewalld itself adds br-ex to the zone of its profile.
func TestZonesOfFirewalld(t *testing.T) {
	for name, test := range map[string]struct {
		file       string
		connection Connection
		want       bool
	}{
		"zone with SSH":             {"zones", Connection{Link: "eth0"}, true},
		"default zone without SSH":  {"zones", Connection{Link: "br-ex"}, false},
		"same zone as the uplink":   {"zones", Connection{Link: "br-ex", FirewalldLink: "eth0"}, true},
		"zone of another interface": {"zones", Connection{Link: "br-ex", FirewalldLink: "eth1"}, true},
		"unknown zone":              {"zones", Connection{Link: "br-ex", FirewalldLink: AnyLink}, true},
		"zone after the change":     {"after", Connection{Link: "br-ex"}, true},
	} {
		content, err := os.ReadFile("testdata/firewalld-" + test.file + ".json")
		if err != nil {
			t.Fatal(err)
		}
		rules := parsed(t, map[string]string{"nft --json list ruleset": string(content)})
		for _, address := range []string{"192.0.2.50", "2001:db8::50"} {
			test.connection.Address, test.connection.Port = netip.MustParseAddr(address), 22
			if got := rules.Accepts(test.connection); got != test.want {
				t.Errorf("%s: %+v is accepted: %t", name, test.connection, got)
			}
			test.connection.Port = 23
			accepted := test.connection.FirewalldLink == "eth1" || test.connection.FirewalldLink == AnyLink
			if rules.Accepts(test.connection) != accepted {
				t.Errorf("%s: port 23 is accepted: %t", name, !accepted)
			}
		}
		if references := rules.References("eth0", "br-ex"); len(references) > 0 {
			t.Errorf("%s: references %+v", name, references)
		}
	}
}

// Rules of the legacy iptables are those of iptables-legacy-save, or of iptables-save itself.
func TestLegacyIPTables(t *testing.T) {
	const legacy = `# Generated by iptables-save v1.8.4 on Sun Nov 29 08:45:05 2026
*filter
:INPUT DROP [0:0]
-A INPUT -i eth0 -p tcp -m tcp --dport 22 -j ACCEPT
COMMIT
`
	for name, output := range map[string]map[string]string{
		"beside nft": {
			"iptables-save": "# Generated by iptables-save v1.8.9 (nf_tables) on Sun Nov 29 08:45:05 2026\n*filter\n" +
				":INPUT ACCEPT [0:0]\nCOMMIT\n",
			"iptables-legacy-save": legacy,
		},
		"without rules of nft": {"iptables-legacy-save": legacy},
		"iptables is legacy":   {"iptables-save": legacy},
	} {
		rules := parsed(t, output)
		c := Connection{Link: "eth0", Address: netip.MustParseAddr("192.0.2.50"), Port: 22}
		if !rules.Accepts(c) {
			t.Errorf("%s: not accepted over eth0", name)
		}
		if c.Link = "br-ex"; rules.Accepts(c) {
			t.Errorf("%s: accepted over br-ex", name)
		}
		references := rules.References("eth0", "br-ex")
		want := references[0].Program + " -t filter -I INPUT 1 -i br-ex -p tcp -m tcp --dport 22 -j ACCEPT"
		if len(references) != 1 || references[0].Command != want {
			t.Errorf("%s: references %+v", name, references)
		}
	}
}

// Output that is not understood is an error, or accepts.
func TestUnknownOutput(t *testing.T) {
	for _, document := range []string{"not JSON", `{"nftables": 1}`, `{"nftables": [{"rule": {"expr": 1}}]}`} {
		run := func(string, ...string) (string, error) { return document, nil }
		if _, err := Parse(run, func(string) bool { return false }); err == nil {
			t.Errorf("%s: no error", document)
		}
	}
	for _, expr := range []string{
		"null", `[{"new": null}]`, `[{"xt": null}]`, `[{"xt": {"type": "target", "name": "REJECT"}}]`,
		`[{"jump": {"target": "c"}}]`,
		`[{"match": {"op": "==", "left": {"new": {}}, "right": null}}, {"accept": null}]`, `[{"goto": null}]`,
		`[{"vmap": {"key": {"meta": {"key": "iifname"}}, "data": "@none"}}]`,
		`[{"vmap": {"key": {"meta": {"key": "iifname"}}, "data": {"set": ["eth0"]}}}]`,
		`[{"match": {"op": "==", "left": {"meta": {"key": "iifname"}}, "right": "@none"}}, {"accept": null}]`,
		`[{"xt": {"type": "match", "name": "new"}}, {"accept": null}]`,
	} {
		rules := parsed(t, map[string]string{"nft --json list ruleset": `{"nftables": [{"metainfo": {}}, {"new": {}},
			{"chain": {"family": "ip", "table": "f", "name": "c", "type": "filter", "hook": "input", "policy": "drop"}},
			{"rule": {"family": "ip", "table": "f", "chain": "c", "expr": ` + expr + `}}]}`})
		accepted := rules.Accepts(Connection{Link: "eth0", Address: netip.MustParseAddr("192.0.2.50"), Port: 22})
		if accepted != (expr != "null") {
			t.Errorf("%s: accepted: %t", expr, accepted)
		}
	}
}

// parsed returns the rules in the output of programs, by command line.
func parsed(t *testing.T, output map[string]string) *Ruleset {
	t.Helper()
	rules, err := Parse(func(program string, arguments ...string) (string, error) {
		return output[strings.Join(append([]string{program}, arguments...), " ")], nil
	}, func(list string) bool { return list == "/proc/net/ip_tables_names" })
	if err != nil {
		t.Fatal(err)
	}
	return rules
}
