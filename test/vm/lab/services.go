// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/hcp-node-agent/hcp-node-agent/test/vm/internal/child"
)

// Services are the services that the router provides on a segment in addition to DNS.
type Services struct {
	DHCP bool
	// NoRouter omits the default route from DHCP responses.
	NoRouter bool
	// MTU is announced by DHCP unless it is 0.
	MTU int
	// SLAAC advertises the router and a prefix for autoconfiguration.
	SLAAC bool
	// DHCPv6 advertises the router and the managed flag.
	DHCPv6 bool
}

// Domain is the DNS domain of the lab; the peer is peer.lab.example.
const Domain = "lab.example"

// StartServices starts the services of the setup after StopServices. Leases are kept as long as
// the lab exists.
func (l *Lab) StartServices(ctx context.Context, vlan int) error {
	for _, s := range Segments() {
		if s.VLAN != vlan {
			continue
		}
		l.StopServices(vlan)
		server, err := child.Start(l.router.command(context.WithoutCancel(ctx), "dnsmasq",
			l.setup.Services[vlan].dnsmasqArguments(s, l.dir)...))
		if err != nil {
			return err
		}
		l.servers[vlan] = server
		return nil
	}
	return fmt.Errorf("lab: there is no VLAN %d", vlan)
}

// StopServices stops DHCP, DHCPv6, router advertisements and DNS on a segment. The router itself
// still responds, and its earlier advertisements remain valid.
func (l *Lab) StopServices(vlan int) {
	if server := l.servers[vlan]; server != nil {
		server.Kill()
		delete(l.servers, vlan)
	}
}

// dnsmasqArguments returns the arguments of dnsmasq.
func (o Services) dnsmasqArguments(s Segment, dir string) []string {
	link := s.link()
	args := []string{
		// A change of the user or group would clear the parent-death signal.
		"--user=root", "--group=root",
		"--keep-in-foreground", "--conf-file=/dev/null", "--pid-file=",
		"--log-facility=" + filepath.Join(dir, link+".log"), "--log-dhcp",
		"--bind-interfaces", "--interface=" + link, "--except-interface=lo",
		"--no-resolv", "--no-hosts", "--domain=" + Domain, "--local=/" + Domain + "/",
		"--host-record=peer." + Domain + "," + s.Peer4.String() + "," + s.Peer6.String(),
		"--host-record=router." + Domain + "," + s.Gateway4.Addr().String() + "," + s.Gateway6.Addr().String(),
		// Without --no-ping, dnsmasq delays each lease by three seconds for an echo.
		"--dhcp-authoritative", "--no-ping",
		"--dhcp-leasefile=" + filepath.Join(dir, link+".leases"),
		"--dhcp-option=option:domain-search," + Domain,
		"--dhcp-option=option6:domain-search," + Domain,
	}
	if o.DHCP {
		net4 := strings.TrimSuffix(s.Gateway4.Addr().String(), "1")
		args = append(args, "--dhcp-range="+net4+"100,"+net4+"199,24h")
	}
	if o.NoRouter {
		args = append(args, "--dhcp-option=option:router")
	}
	if o.MTU != 0 {
		args = append(args, fmt.Sprintf("--dhcp-option=option:mtu,%d", o.MTU))
	}
	net6 := strings.TrimSuffix(s.Gateway6.Addr().String(), "1")
	switch {
	case o.DHCPv6:
		args = append(args, "--enable-ra", "--dhcp-range="+net6+"1000,"+net6+"1fff,64,24h")
	case o.SLAAC:
		args = append(args, "--enable-ra", "--dhcp-range="+net6+",ra-stateless,64,24h")
	}
	return args
}
