package bootstrap

import (
	"net/netip"
	"slices"
	"testing"
)

func TestStays(t *testing.T) {
	const boot = "\n[Install]\nWantedBy=multi-user.target\n"
	for name, test := range map[string]struct {
		contents string
		want     bool
	}{
		"a service":                              {"[Service]\nExecStart=/bin/haproxy" + boot, true},
		"of the default target":                  {"[Service]\nExecStart=/bin/a\n[Install]\nWantedBy=sockets.target default.target\n", true},
		"oneshot that remains":                   {"[Service]\nType=oneshot\nRemainAfterExit=yes\nExecStart=/bin/a" + boot, true},
		"remains, in other word":                 {"[Service]\nType=oneshot\nRemainAfterExit=true\nExecStart=/bin/a" + boot, true},
		"oneshot":                                {"[Service]\nType=oneshot\nExecStart=/bin/a" + boot, false},
		"oneshot that does not":                  {"[Service]\nType=oneshot\nRemainAfterExit=no\nExecStart=/bin/a" + boot, false},
		"not started at boot":                    {"[Service]\nExecStart=/bin/a\n", false},
		"for another unit":                       {"[Service]\nExecStart=/bin/a\n[Install]\nRequiredBy=kubelet.service\nWantedBy=kubelet.service\n", false},
		"no service":                             {"[Path]\nPathChanged=/etc" + boot, false},
		"the name of a target is said elsewhere": {"[Unit]\nAfter=multi-user.target\n[Service]\nExecStart=/bin/a\n", false},
		"no unit":                                {"hello", false},
		"empty":                                  {"", false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := stays(test.contents); got != test.want {
				t.Errorf("stays = %t", got)
			}
		})
	}
}

func TestInternalAddresses(t *testing.T) {
	const script = "#!/usr/bin/env bash\nset -x\nip addr add %s brd %s scope host dev lo\nip route add %s dev lo scope link src %s\n"
	for name, test := range map[string]struct {
		content string
		found   bool
		want    string
	}{
		"HyperShift's": {"#!/usr/bin/env bash\nset -x\nip addr add 172.20.0.1/32 brd 172.20.0.1 scope host dev lo\nip route add 172.20.0.1/32 dev lo scope link src 172.20.0.1\n", true, "172.20.0.1"},
		"IPv6":         {"ip -6 addr add fd00::1/128 scope host dev lo\n", true, "fd00::1"},
		"IPv6 default, which the script gives a prefix of IPv4": {
			"ip addr add fd00::1/32 brd fd00::1 scope host dev lo\nip route add fd00::1/32 dev lo scope link src fd00::1\n", true, "fd00::1",
		},
		"without a prefix": {"ip address add 172.20.0.1 dev lo\n", true, "172.20.0.1"},
		"a network":        {"ip route add 10.0.0.0/8 dev eth0\n", true, ""},
		"no address":       {script, true, ""},
		"not there":        {"ip addr add 172.20.0.1/32 dev lo\n", false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			asked := ""
			got := internalAddresses(func(p string) ([]byte, uint32, bool) {
				asked = p
				return []byte(test.content), 0o755, test.found
			})
			var want []netip.Addr
			if test.want != "" {
				want = []netip.Addr{netip.MustParseAddr(test.want)}
			}
			if !slices.Equal(got, want) || asked != "/usr/local/bin/setup-apiserver-ip.sh" {
				t.Errorf("%v from %s, want %v", got, asked, want)
			}
		})
	}
}

func TestLastWord(t *testing.T) {
	for text, want := range map[string]string{"Kubernetes v1.31.4\n": "v1.31.4", "": "", " \n": ""} {
		if got := lastWord(text); got != want {
			t.Errorf("lastWord(%q) = %q", text, got)
		}
	}
}
