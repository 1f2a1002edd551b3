// SPDX-License-Identifier: Apache-2.0

// Package dnsmasq serves DHCP and DNS to the machines on the bridge, with Debian's dnsmasq.
package dnsmasq

import (
	"fmt"
	"net/netip"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/hcp-node-agent/hcp-node-agent/test/controlplane/internal/process"
)

// Config describes the one link.
type Config struct {
	Dir       string // directory for dnsmasq's state
	Bridge    string
	Addresses []netip.Prefix // of the bridge, which is the gateway and the DNS server: one per family
	Domain    string
	Names     []string // host names in Domain, all with Addresses
}

// Start starts dnsmasq, which leases the addresses .100 to .199 of an IPv4 network, ::100 to ::199 of an IPv6 network,
// and sends router advertisements.
func Start(group *process.Group, c Config) error {
	path, err := exec.LookPath("dnsmasq")
	if err != nil {
		if path, err = exec.LookPath("/usr/sbin/dnsmasq"); err != nil {
			return fmt.Errorf("finding dnsmasq (apt-get install dnsmasq-base): %w", err)
		}
	}
	return group.Start("dnsmasq", path, c.flags()...)
}

func (c Config) flags() []string {
	flags := []string{
		"--no-daemon",
		"--conf-file=/dev/null", // ignore the host's configuration
		"--no-resolv", "--no-hosts", "--no-poll",
		"--pid-file=",
		// its files belong to root; changing either ID would also clear the parent-death signal
		"--user=root", "--group=root",
		"--bind-interfaces", "--interface=" + c.Bridge, "--except-interface=lo",
		"--domain=" + c.Domain, "--local=/" + c.Domain + "/",
		"--dhcp-authoritative",
		"--no-ping", // there is no other DHCP server here, and a ping costs 3 s a lease
		"--dhcp-leasefile=" + filepath.Join(c.Dir, "dnsmasq.leases"),
		"--log-dhcp", "--log-queries", "--log-facility=-",
	}
	var addresses []string
	for _, prefix := range c.Addresses {
		address := prefix.Addr().String()
		addresses = append(addresses, address)
		network := strings.TrimSuffix(address, "1")
		if prefix.Addr().Is4() {
			flags = append(flags,
				"--dhcp-range="+network+"100,"+network+"199,255.255.255.0,24h",
				"--dhcp-option=option:router,"+address,
				"--dhcp-option=option:dns-server,"+address,
				"--dhcp-option=option:domain-search,"+c.Domain)
			continue
		}
		flags = append(flags, "--enable-ra",
			"--dhcp-range="+network+"100,"+network+"199,64,24h",
			"--dhcp-option=option6:dns-server,["+address+"]",
			"--dhcp-option=option6:domain-search,"+c.Domain)
	}
	for _, name := range c.Names {
		flags = append(flags, "--host-record="+name+"."+c.Domain+","+strings.Join(addresses, ","))
	}
	return flags
}
