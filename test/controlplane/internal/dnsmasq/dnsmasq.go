// SPDX-License-Identifier: Apache-2.0

// Package dnsmasq serves DHCP and DNS to the machines on the bridge, with Debian's dnsmasq.
package dnsmasq

import (
	"fmt"
	"net"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/hcp-node-agent/hcp-node-agent/test/controlplane/internal/process"
)

// Config describes the one network, whose prefix length is 24.
type Config struct {
	Dir     string // directory for dnsmasq's state
	Bridge  string
	Address net.IP // the address of the bridge, which is the gateway and the DNS server
	Domain  string
	Names   []string // host names in Domain, all with Address
}

// Start starts dnsmasq, which leases the addresses .100 to .199 of the bridge's network.
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
	network := c.Address.String()[:strings.LastIndexByte(c.Address.String(), '.')+1]
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
		"--dhcp-range=" + network + "100," + network + "199,255.255.255.0,24h",
		"--dhcp-option=option:router," + c.Address.String(),
		"--dhcp-option=option:dns-server," + c.Address.String(),
		"--dhcp-option=option:domain-search," + c.Domain,
		"--log-dhcp", "--log-queries", "--log-facility=-",
	}
	for _, name := range c.Names {
		flags = append(flags, "--host-record="+name+"."+c.Domain+","+c.Address.String())
	}
	return flags
}
