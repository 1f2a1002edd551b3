// SPDX-License-Identifier: Apache-2.0

package packetfilter

import (
	"net/netip"
	"strings"
	"testing"
)

const ssh = "\niifname \"eth0\" tcp dport 22 accept"

const iptablesSSH = "-i eth0 -p tcp --dport 22 -j ACCEPT"

// packetCases contains rules that accept no first packet of a connection to sshd, and a rule that names the uplink.
var packetCases = map[string]acceptCase{
	"flags of TCP":      {inBase("tcp flags != syn accept" + ssh), true, false, true},
	"masked flags":      {inBase("tcp flags & (fin|syn|rst|ack) != syn accept" + ssh), true, false, true},
	"one of the flags":  {inBase("tcp flags ack,rst accept" + ssh), true, false, true},
	"set of flags":      {inBase("tcp flags { ack, rst } accept" + ssh), true, false, true},
	"none of the flags": {inBase("tcp flags ! syn accept" + ssh), true, false, true},
	"invalid flags": {
		inBase("tcp flags & (fin|syn|rst|ack) == 0x0 drop\ntcp dport 22 accept"), true, true, false,
	},
	"new connections by flags": {inBase("tcp flags & (fin|syn|rst|ack) == syn accept"), true, true, false},
	"flags of the response": {
		`table inet f { chain c {
			type filter hook output priority 0; policy drop; tcp flags & (syn|ack) == ack accept; oifname "eth0" accept; }; }`,
		true, false, true,
	},
	"iptables, flags": {iptables("-p tcp ! --syn -j ACCEPT", iptablesSSH), true, false, true},
	"iptables, invalid flags": {
		iptables("-p tcp --tcp-flags ALL NONE -j DROP", "-p tcp ! --syn -m state --state NEW -j DROP",
			"-p tcp --dport 22 -j ACCEPT"),
		true, true, false,
	},
	"mark of the connection": {
		`table inet f {
	chain p { type filter hook prerouting priority mangle; iifname "eth0" ct mark set 0x1; }
	chain c { type filter hook input priority 0; policy drop; ct mark 0x1 accept; }
}`, true, false, true,
	},
	"masked mark": {
		`table inet f {
	chain p { type filter hook prerouting priority mangle; iifname "eth0" meta mark set meta mark or 0x10; }
	chain c { type filter hook input priority 0; policy drop; meta mark & 0xff == 0x10 accept; }
}`, true, false, true,
	},
	"restored mark": {
		`table inet f {
	chain p {
		type filter hook prerouting priority mangle
		meta mark set 0x0
		meta mark set ct mark and 0xff
		iifname "eth0" meta mark set 0x1
		ct mark set meta mark
	}
	chain c { type filter hook input priority 0; policy drop; meta mark 0x1 accept; }
}`, true, false, true,
	},
	"iptables, restored mark": {
		"iptables-nft -t mangle -A PREROUTING -j CONNMARK --restore-mark\n" +
			"iptables-nft -t mangle -A PREROUTING -i eth0 -j MARK --set-mark 0x1\n" +
			"iptables-nft -t mangle -A PREROUTING -j CONNMARK --save-mark\n" + iptables("-m mark --mark 0x1 -j ACCEPT"),
		true, false, true,
	},
	"fragments":           {inBase("ip frag-off & 0x1fff != 0 accept" + ssh), true, false, true},
	"iptables, fragments": {iptables("-f -j ACCEPT", "! -f "+iptablesSSH), true, false, true},
	"iptables, type of packet": {
		iptables("-m pkttype --pkt-type multicast -j ACCEPT", iptablesSSH), true, false, true,
	},
	"iptables, ports of both hosts": {
		iptables("-p tcp -m multiport --ports 80,443 -j ACCEPT", iptablesSSH), true, false, true,
	},
	"iptables, port of either host": {iptables("-p tcp -m multiport --ports 22,443 -j ACCEPT"), true, true, false},
	"helper":                        {inBase("ct helper \"ftp\" accept" + ssh), true, false, true},
	"iptables, helper":              {iptables("-m helper --helper ftp -j ACCEPT", iptablesSSH), true, false, true},
	"direction":                     {inBase("ct direction reply accept" + ssh), true, false, true},
	"iptables, direction": {
		iptables("-m conntrack --ctdir REPLY -j ACCEPT", iptablesSSH), true, false, true,
	},
	"port before NAT": {inBase("meta l4proto tcp ct original proto-dst 8080 accept" + ssh), true, false, true},
	"iptables, port before NAT": {
		iptables("-p tcp -m conntrack --ctorigdstport 8080 -j ACCEPT", iptablesSSH), true, false, true,
	},
	"dormant table": {
		`table inet f { flags dormant; chain c { type filter hook input priority 0; policy drop; iifname "eth0" accept; }; }`,
		true, true, false,
	},
	"group of the uplink": {
		"ip link set eth0 group 10\nnft -f - <<E\n" + inBase("iifgroup 10 accept") + "E", true, false, false,
	},
	"group of any interface": {inBase("iifgroup default accept"), true, true, false},
	"iptables, group": {
		"ip link set eth0 group 10\n" + iptables("-m devgroup --src-group 10 -j ACCEPT"), true, false, false,
	},
	"kind of the uplink": {inBase("iif != lo meta iifkind \"tun\" accept"), true, false, false},
}

func TestAcceptsPacket(t *testing.T) { testAccepts(t, packetCases) }

// A rule for certain other hosts does not accept all that the rule with the name of the uplink accepts.
func TestAcceptsUnlisted(t *testing.T) {
	const document = `{"nftables": [
		{"chain": {"family": "ip", "table": "f", "name": "c", "type": "filter", "hook": "input", "policy": "drop"}},
		{"rule": {"family": "ip", "table": "f", "chain": "c", "handle": 1, "expr": [
			{"match": {"op": "==", "left": {"meta": {"key": "iifname"}}, "right": "eth0"}}, {"accept": null}]}},
		{"rule": {"family": "ip", "table": "f", "chain": "c", "handle": 2, "expr": [{"match": MATCH}, {"accept": null}]}}]}`
	for match, isOfAll := range map[string]bool{
		"-m set --match-set admins src":                                              false,
		"-m set ! --match-set banned src":                                            true,
		"-m set --match-set ports dst":                                               true,
		"-m iprange --src-range 10.1.1.1-10.1.1.9":                                   false,
		"-m mac --mac-source 52:54:00:00:00:01":                                      false,
		"-m recent --rcheck --seconds 9 --name KNOCK --mask 255.255.255.0 --rsource": false,
		"-m policy --dir in --pol ipsec":                                             false,
		"-m policy --dir in --pol none":                                              true,
		"-m geoip --source-country DE":                                               false,
		`{"op": "==", "left": {"payload": {"protocol": "ether", "field": "saddr"}}, "right": "52:54:00:00:00:01"}`: false,
		`{"op": "==", "left": {"meta": {"key": "ipsec"}}, "right": true}`:                                          false,
		`{"op": "==", "left": {"meta": {"key": "ipsec"}}, "right": false}`:                                         true,
		`{"op": "==", "left": {"ipsec": {"key": "reqid", "dir": "in", "spnum": 0}}, "right": 1}`:                   false,
		`{"op": "==", "left": {"ct": {"key": "ip saddr", "dir": "original"}},
			"right": {"prefix": {"addr": "10.0.0.0", "len": 8}}}`: false,
	} {
		output := map[string]string{"nft --json list ruleset": strings.ReplaceAll(document, "MATCH", match)}
		if strings.HasPrefix(match, "-") {
			output = map[string]string{"iptables-save": "*filter\n:INPUT DROP [0:0]\n-A INPUT -i eth0 -j ACCEPT\n" +
				"-A INPUT " + match + " -j ACCEPT\nCOMMIT\n"}
		}
		rules := parsed(t, output)
		c := Connection{Link: "br-ex", Address: netip.MustParseAddr("192.0.2.50"), Port: 22}
		if !rules.Accepts(c) {
			t.Errorf("%s: a host of the rule is not accepted", match)
		}
		if c.Unlisted = true; rules.Accepts(c) != isOfAll {
			t.Errorf("%s: any host is accepted: %t", match, !isOfAll)
		}
	}
}
