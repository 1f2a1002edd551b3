// SPDX-License-Identifier: Apache-2.0

package packetfilter

import "strings"

// base contains a chain with a policy; the rules are inserted.
const base = `table inet filter {
	set lan { type ifname; elements = { "lo", "eth0" }; }
	set other { type ifname; elements = { "lo", "eth1" }; }
	set doors { type inet_service; flags interval; elements = { 22, 8000-8100 }; }
	set pairs { type ifname . inet_service; elements = { "eth0" . 22 }; }
	set networks { type ifname . ipv4_addr . inet_service; flags interval; elements = { "eth0" . 10.0.0.0/8 . 20-30 }; }
	set indexes { type iface_index; elements = { "eth0" }; }
	set noted { type ifname; elements = { "eth0" comment "LAN" }; }
	map decisions { type ifname : verdict; elements = { "eth0" comment "LAN" : accept }; }
	map ways { type ifname : verdict; elements = { "lo" : accept, "eth0" : jump wan }; }
	chain wan { tcp dport 22 accept; }
	chain back { iifname "eth0" return; drop; }
	chain input {
		type filter hook input priority 0; policy drop;
		iifname "lo" accept
		ct state established,related accept
		RULES
	}
}
`

// inBase returns a ruleset with rules, one per line, behind those for lo and for connections that exist.
func inBase(rules string) string { return strings.ReplaceAll(base, "RULES", rules) }

// iptables returns a shell script with the rules of a chain INPUT with the policy DROP.
func iptables(rules ...string) string {
	return "iptables-nft -P INPUT DROP\niptables-nft -A INPUT -i lo -j ACCEPT\n" +
		"iptables-nft -A INPUT -m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT\niptables-nft -A INPUT " +
		strings.Join(rules, "\niptables-nft -A INPUT ")
}

type acceptCase struct {
	rules   string // for nft, or a script for sh
	uplink  bool   // whether eth0 accepts the connection
	bridge  bool   // whether br-ex does
	command bool   // whether the printed commands make br-ex accept it
}

// cases contains rules of the administrator, of Docker, libvirt, Podman and OVN-Kubernetes.
var cases = map[string]acceptCase{
	"no rules":            {"", true, true, false},
	"default accept":      {`table inet f { chain c { type filter hook input priority 0; }; }`, true, true, false},
	"no interface":        {inBase(`tcp dport 22 accept`), true, true, false},
	"only loopback":       {inBase(``), false, false, false},
	"name of the uplink":  {inBase(`iifname "eth0" tcp dport 22 accept`), true, false, true},
	"index of the uplink": {inBase(`iif "eth0" tcp dport 22 accept`), true, false, true},
	"counter and comment": {
		inBase(`iifname "eth0" tcp dport 22 counter accept comment "it's eth0"`),
		true, false, true,
	},
	"wildcard":           {inBase(`iifname "eth*" accept`), true, false, true},
	"wildcard of both":   {inBase(`iifname { "eth*", "br-*" } accept`), true, true, false},
	"anonymous set":      {inBase(`iifname { "lo", "eth0" } tcp dport { 22, 443 } accept`), true, false, true},
	"named set":          {inBase(`iifname @lan tcp dport @doors accept`), true, false, true},
	"named set of pairs": {inBase(`iifname . tcp dport @pairs accept`), true, false, true},
	"named set of networks": {
		inBase(`iifname . ip saddr . tcp dport @networks accept`), true, false, true,
	},
	"named set of indexes":     {inBase(`iif @indexes accept`), true, false, false},
	"named set with a comment": {inBase(`iifname @noted accept`), true, false, true},
	"named map with a comment": {inBase(`iifname vmap @decisions`), true, false, true},
	"set in another order":     {inBase(`iifname { "lo", "eth0", "eth1" } tcp dport 22 accept`), true, false, true},
	"reply of a server":        {inBase("tcp sport { 80, 443 } accept\niifname \"eth0\" accept"), true, false, true},
	"ports of clients":         {inBase("tcp sport 1024-65535 tcp dport 22 accept"), true, true, false},
	"pair":                     {inBase(`iifname . tcp dport { "eth0" . 22 } accept`), true, false, true},
	"map":                      {inBase(`iifname vmap { "lo" : accept, "eth0" : jump wan }`), true, false, true},
	"map with goto":            {inBase(`iifname vmap { "lo" : accept, "eth0" : goto wan }`), true, false, true},
	"named map":                {inBase(`iifname vmap @ways`), true, false, true},
	"jump":                     {inBase(`iifname "eth0" jump wan`), true, false, true},
	"return":                   {inBase("jump back\naccept"), true, false, true},
	"all but the uplink":       {inBase("iifname != \"eth0\" drop\naccept"), true, false, false},
	"all but a set":            {inBase("iifname != @lan drop\naccept"), true, false, true},
	"all but another":          {inBase("iifname != \"eth1\" tcp dport 22 accept"), true, true, false},
	"another set":              {inBase("iifname @other accept\ntcp dport 22 accept"), true, true, false},
	"another port":             {inBase(`iifname "eth0" tcp dport 80 accept`), false, false, false},
	"range of ports":           {inBase(`iifname "eth0" tcp dport 20-30 accept`), true, false, true},
	"high ports": {
		inBase("tcp dport >= 1024 accept\n" +
			"iifname \"eth0\" tcp dport < 1024 accept"),
		true, false, true,
	},
	"UDP":                 {inBase("udp dport 22 accept\niifname \"eth0\" accept"), true, false, true},
	"UDP of another port": {inBase("udp dport != 22 accept\niifname \"eth0\" accept"), true, false, true},
	"ICMP": {
		inBase("icmp type echo-request accept\niifname \"eth0\" meta l4proto tcp accept"), true, false, true,
	},
	"IPv6 only": {
		inBase("meta nfproto ipv6 accept\n" +
			"ip6 saddr fe80::/10 accept\n" +
			"iifname \"eth0\" accept"),
		true, false, true,
	},
	"state map": {inBase("ct state vmap { new : jump wan, invalid : drop }"), true, true, false},
	"state map of the uplink": {
		inBase("ct state vmap { established : accept, invalid : drop }\n" +
			"iifname \"eth0\" ct state new accept"),
		true, false, true,
	},
	"DNAT": {inBase("ct status dnat accept\niifname \"eth0\" accept"), true, false, true},
	"unknown source": {
		inBase("ip saddr 198.51.100.0/24 tcp dport 22 accept\n" +
			"iifname \"eth0\" accept"),
		true, true, true,
	},
	"loopback source": {inBase("ip saddr 127.0.0.0/8 accept\niifname \"eth0\" accept"), true, false, true},
	"address of the host": {
		inBase("ip daddr 192.0.2.0/24 tcp dport 22 accept\n" +
			"iifname \"eth0\" accept"),
		true, true, true,
	},
	"multicast": {inBase("ip daddr 224.0.0.0/4 accept\niifname \"eth0\" accept"), true, false, true},
	"range of addresses": {
		inBase("ip daddr 192.0.2.60-192.0.2.90 accept\n" +
			"iifname \"eth0\" accept"),
		true, false, true,
	},
	"broadcast": {
		inBase("meta pkttype { broadcast, multicast } accept\n" +
			"iifname \"eth0\" accept"),
		true, false, true,
	},
	"local address":   {inBase("fib daddr type local accept"), true, true, false},
	"mark of no rule": {inBase("meta mark 7 accept\niifname \"eth0\" accept"), true, false, true},
	"mark of the uplink": {
		`table inet f {
	chain p { type filter hook prerouting priority mangle; iifname "eth0" meta mark set 0x1; }
	chain c { type filter hook input priority 0; policy drop; meta mark 0x1 accept; }
}`, true, false, true,
	},
	"mark by a map": {
		`table inet f {
	chain c { type filter hook input priority 0; policy drop; meta mark != 0x0 accept; }
	chain p { type filter hook prerouting priority mangle; meta mark set iifname map { "lo" : 0x2, "eth0" : 0x1 }; }
}`, true, false, true,
	},
	"mark of any interface": {
		`table inet f {
	chain p { type filter hook prerouting priority mangle; tcp dport 22 meta mark set 0x1; }
	chain c { type filter hook input priority 0; policy drop; meta mark 0x1 accept; }
}`, true, true, false,
	},
	"iptables, mark": {
		"iptables-nft -t mangle -A PREROUTING -i eth0 -j MARK --set-mark 0x1\n" +
			iptables("-m mark --mark 0x1/0xff -j ACCEPT"),
		true, false, true,
	},
	"iptables, mark for kubelet": {
		"iptables-nft -N KUBE-FIREWALL\n" +
			"iptables-nft -A KUBE-FIREWALL -m mark --mark 0x8000/0x8000 -j DROP\niptables-nft -A INPUT -j KUBE-FIREWALL",
		true, true, false,
	},
	"rate": {
		inBase("limit rate 3/second log prefix \"eth0 \"\n" +
			"iifname \"eth0\" limit rate 3/second accept"),
		true, false, true,
	},
	"meter": {
		inBase(`iifname "eth0" tcp dport 22 meter m { ip saddr limit rate 5/minute } accept`), true, false, true,
	},
	"many addresses": {
		inBase(`iifname "eth0" ip saddr { 10.0.0.1, 10.0.0.2, 10.0.0.3, 10.0.0.4, 10.0.0.5, 10.0.0.6, 10.0.0.7,
			10.0.0.8, 10.0.0.9 } accept`),
		true, false, true,
	},
	"drop of the uplink": {inBase("iifname \"eth0\" tcp dport 22 drop\ntcp dport 22 accept"), false, true, false},
	"drop in another table": {
		`table inet a { chain c { type filter hook input priority 0; accept; }; }
table ip b { chain c { type filter hook input priority 10; policy drop; iifname "eth0" accept; }; }`,
		true, false, true,
	},
	"drop before routing": {
		`table inet raw { chain c { type filter hook prerouting priority raw; iifname != "eth0" drop; }; }`,
		true, false, false,
	},
	"table of IPv6": {
		`table ip6 f { chain c { type filter hook input priority 0; policy drop; iifname "eth0" accept; }; }`,
		true, true, false,
	},
	"device of the NIC": {
		`table netdev f { chain c { type filter hook ingress device "eth0" priority 0; policy accept; }; }`,
		true, true, false,
	},
	"response": {
		`table inet f { chain c { type filter hook output priority 0; policy drop; oifname "eth0" accept; }; }`,
		true, false, true,
	},
	"response of the state": {
		`table inet f { chain c {
			type filter hook output priority 0; policy drop; ct state established accept; oifname "eth0" accept; }; }`,
		true, true, true,
	},
	"NAT of the uplink": {
		`table ip nat { chain c { type nat hook postrouting priority srcnat; policy accept; oifname "eth0" masquerade; }; }`,
		true, true, false,
	},
	"forwarding of the uplink": {
		`table ip f { chain c { type filter hook forward priority 0; policy drop; iifname "eth0" accept; }; }`,
		true, true, false,
	},
	"iptables":                   {iptables("-i eth0 -p tcp --dport 22 -j ACCEPT"), true, false, true},
	"iptables without interface": {iptables("-p tcp --dport 22 -j ACCEPT"), true, true, false},
	"iptables, new connections": {
		iptables("-i eth0 -p tcp -m state --state NEW -m tcp --dport 22 -j ACCEPT"),
		true, false, true,
	},
	"iptables, ports": {
		iptables("-i eth+ -p tcp -m multiport --dports 80:90,22 -m comment --comment \"a -j b\" -j ACCEPT"),
		true, false, true,
	},
	"iptables, all but the uplink": {iptables("! -i eth0 -j REJECT", "-j ACCEPT"), true, false, false},
	"iptables, log": {
		iptables("-m limit --limit 3/min -j LOG --log-prefix \"-j ACCEPT \"", "-i eth0 -j ACCEPT"),
		true, false, true,
	},
	"iptables, multicast": {
		iptables("-d 224.0.0.0/8 -j ACCEPT", "-s 127.0.0.1 -j ACCEPT", "-p icmp -j ACCEPT", "-i eth0 -j ACCEPT"),
		true, false, true,
	},
	"iptables, local type": {
		iptables("-m addrtype --dst-type BROADCAST -j ACCEPT", "-i eth0 -m addrtype --dst-type LOCAL -j ACCEPT"),
		true, false, true,
	},
	"iptables, without connection tracking": {
		iptables("-p tcp -m tcp --sport 443 -j ACCEPT", "-m addrtype --src-type LOCAL -j ACCEPT", "-i eth0 -j ACCEPT"),
		true, false, true,
	},
	"iptables, chains": {
		"iptables-nft -N SSH\niptables-nft -A SSH -p tcp --dport 22 -j ACCEPT\n" + iptables("-i eth0 -g SSH", "-j REJECT"),
		true, false, true,
	},
	"iptables, two rules": {
		iptables("-i eth0 -p tcp --dport 80 -j ACCEPT", "-p udp -j ACCEPT", "-i eth0 -p tcp --dport 22 -j ACCEPT",
			"-j DROP"),
		true, false, true,
	},
	"Docker": {`iptables-nft-restore <<E
*nat
:PREROUTING ACCEPT [0:0]
:DOCKER - [0:0]
-A PREROUTING -m addrtype --dst-type LOCAL -j DOCKER
-A DOCKER -i docker0 -j RETURN
-A DOCKER ! -i docker0 -p tcp -m tcp --dport 8080 -j DNAT --to-destination 172.17.0.2:80
COMMIT
*filter
:INPUT ACCEPT [0:0]
:FORWARD DROP [0:0]
:DOCKER-USER - [0:0]
-A FORWARD -j DOCKER-USER
-A DOCKER-USER -j RETURN
-A FORWARD -o docker0 -m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT
COMMIT
E`, true, true, false},
	"libvirt": {`iptables-nft-restore <<E
*filter
:INPUT ACCEPT [0:0]
:LIBVIRT_INP - [0:0]
-A INPUT -j LIBVIRT_INP
-A LIBVIRT_INP -i virbr0 -p udp -m udp --dport 53 -j ACCEPT
-A LIBVIRT_INP -i virbr0 -p tcp -m tcp --dport 67 -j ACCEPT
COMMIT
E`, true, true, false},
	"Podman": {`table inet netavark {
	chain NETAVARK-HOSTPORT-DNAT { tcp dport 8080 jump nv_1; }
	chain nv_1 { ip saddr 10.88.0.0/16 return; tcp dport 8080 dnat ip to 10.88.0.2:80; }
	chain PREROUTING {
		type nat hook prerouting priority dstnat; policy accept;
		fib daddr type local jump NETAVARK-HOSTPORT-DNAT
	}
}`, true, true, false},
	"OVN-Kubernetes": {`table inet ovn-kubernetes {
	set mgmtport-no-snat-nodeports { type inet_proto . inet_service; }
	chain mgmtport-snat {
		type nat hook postrouting priority srcnat; policy accept;
		oifname != "ovn-k8s-mp0" return
		meta l4proto . th dport @mgmtport-no-snat-nodeports return
		snat ip to 10.132.0.2
	}
	chain udn-service-prerouting {
		type filter hook prerouting priority mangle; policy accept;
		iifname != "eth0" return
		meta mark set 0x1
	}
}`, true, true, false},
	"iptables, IPv6": {
		"ip6tables-nft -P INPUT DROP\nip6tables-nft -A INPUT -p ipv6-icmp -j ACCEPT\n" +
			"ip6tables-nft -A INPUT -i eth0 -j ACCEPT",
		true, true, false,
	},
}
