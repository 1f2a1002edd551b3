// SPDX-License-Identifier: Apache-2.0

package preflight

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hcp-node-agent/hcp-node-agent/internal/enrollment"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostnet"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

const mainTable = 254

// clusterOf returns networks from a text such as "pods 10.132.0.0/14, join 100.64.0.0/16".
func clusterOf(t *testing.T, text string) []enrollment.ClusterNetwork {
	t.Helper()
	var networks []enrollment.ClusterNetwork
	for part := range strings.SplitSeq(text, ", ") {
		if use, cidr, found := strings.Cut(part, " "); found {
			networks = append(networks,
				enrollment.ClusterNetwork{Use: enrollment.NetworkUse(use), CIDR: netip.MustParsePrefix(cidr)})
		}
	}
	return networks
}

// addressesOf returns addresses from a text such as "eth0 192.0.2.7/24, docker0 172.17.0.1/16".
func addressesOf(text string) []hostnet.LinkAddress {
	var addresses []hostnet.LinkAddress
	for part := range strings.SplitSeq(text, ", ") {
		if link, address, found := strings.Cut(part, " "); found {
			addresses = append(addresses, hostnet.LinkAddress{Link: link, Address: netip.MustParsePrefix(address)})
		}
	}
	return addresses
}

// routesOf returns routes of the main table from a text such as "eth0 10.0.0.0/8 192.0.2.1, eth1 10.1.0.0/16".
func routesOf(text string) []hostnet.TableRoute {
	var routes []hostnet.TableRoute
	for part := range strings.SplitSeq(text, ", ") {
		words := strings.Fields(part)
		if len(words) < 2 {
			continue
		}
		route := hostnet.TableRoute{Table: mainTable, Route: hostnet.Route{Link: words[0]}}
		if words[1] != "default" {
			route.Destination = netip.MustParsePrefix(words[1])
		}
		if len(words) > 2 {
			route.Gateway = netip.MustParseAddr(words[2])
		}
		routes = append(routes, route)
	}
	return routes
}

// The networks of a HyperShift cluster with OVN-Kubernetes.
const (
	ovnCluster = "pods 10.132.0.0/14, services 172.31.0.0/16, join 100.64.0.0/16, transit 100.88.0.0/16"
	ovnDual    = ovnCluster + ", pods fd01::/48, services fd02::/112, join fd98::/64, transit fd97::/64"
)

func TestClusterNetworks(t *testing.T) {
	const uplink = "eth0 192.0.2.7/24"
	for name, test := range map[string]struct {
		known     string
		addresses string
		routes    string
		dns       string
		hasJoined bool
		isOther   bool     // another network plugin
		want      []string // severity and start of the message of each finding
	}{
		"no overlap": {known: ovnDual, addresses: uplink + ", eth0 2001:db8::7/64", dns: "172.31.0.10"},
		"equal networks": {
			known: ovnCluster, addresses: uplink + ", eth1 172.31.5.4/16",
			want: []string{
				"problem: network 172.31.0.0/16 of eth1 overlaps the service network 172.31.0.0/16 of the cluster; this node",
			},
		},
		"the host's network contains that of the cluster": {
			known: ovnCluster, addresses: "eth0 10.0.0.7/8",
			want: []string{"problem: network 10.0.0.0/8 of eth0 overlaps the pod network 10.132.0.0/14 of the cluster"},
		},
		"the host's network is contained in that of the cluster": {
			known: "pods 172.16.0.0/12, join 100.64.0.0/16", addresses: uplink + ", docker0 172.17.0.1/16",
			want: []string{"problem: network 172.17.0.0/16 of docker0 overlaps the pod network 172.16.0.0/12 of the cluster"},
		},
		"networks of CRI-O and libvirt count": {
			known: "pods 10.80.0.0/12, services 192.168.0.0/16", addresses: "cni0 10.85.0.1/16, virbr0 192.168.122.1/24",
			isOther: true,
			want: []string{
				"problem: network 10.85.0.0/16 of cni0 overlaps the pod network 10.80.0.0/12",
				"problem: network 192.168.122.0/24 of virbr0 overlaps the service network 192.168.0.0/16",
			},
		},
		"IPv6": {
			known: ovnDual, addresses: uplink + ", eth1 fd98::7/64, eth2 fe80::1/64",
			want: []string{"problem: network fd98::/64 of eth1 overlaps the join network of OVN-Kubernetes fd98::/64 of the"},
		},
		"one address in the join network, as of Tailscale": {
			known: ovnCluster, addresses: uplink + ", tailscale0 100.64.3.4/32",
			want: []string{"warning: address 100.64.3.4 of tailscale0 overlaps the join network"},
		},
		"the node's address with length 32 in the pod network": {
			known: ovnCluster, addresses: "eth0 10.132.0.7/32",
			want: []string{"problem: address 10.132.0.7 of eth0 overlaps the pod network 10.132.0.0/14"},
		},
		"a route to one address": {
			known: ovnCluster, addresses: uplink, routes: "eth0 10.132.7.7/32 192.0.2.1",
			want: []string{"warning: the route to 10.132.7.7/32 over eth0 overlaps the pod network"},
		},
		"default routes": {
			known: ovnCluster, addresses: uplink,
			routes: "eth0 default 192.0.2.1, eth0 0.0.0.0/0 192.0.2.1, tun0 0.0.0.0/1, tun0 128.0.0.0/1",
		},
		"a wider network behind a router": {
			known: ovnCluster, addresses: uplink, routes: "eth0 10.0.0.0/8 192.0.2.1",
			want: []string{"warning: the route to 10.0.0.0/8 over eth0 overlaps the pod network 10.132.0.0/14"},
		},
		"a narrower network behind a router": {
			known: ovnCluster, addresses: uplink, routes: "eth0 10.133.0.0/16 192.0.2.1",
			want: []string{"problem: the route to 10.133.0.0/16 over eth0 overlaps the pod network 10.132.0.0/14"},
		},
		"a wider network without a router": {
			known: ovnCluster, addresses: uplink, routes: "wg0 10.0.0.0/8",
			want: []string{"problem: network 10.0.0.0/8 of wg0 overlaps the pod network 10.132.0.0/14"},
		},
		"the route of an address is not reported again": {
			known: ovnCluster, addresses: "eth1 10.132.0.7/24", routes: "eth1 10.132.0.0/24",
			want: []string{"problem: network 10.132.0.0/24 of eth1 overlaps the pod network 10.132.0.0/14 of the cluster; " +
				"this node would have no traffic to addresses of both networks$"},
		},
		"several networks of an interface": {
			known: ovnCluster, addresses: uplink, routes: "eth1 10.132.7.7/32, eth1 10.133.0.0/16 192.0.2.1",
			want: []string{
				"problem: the route to 10.133.0.0/16 over eth1 overlaps the pod network 10.132.0.0/14 of the cluster; " +
					"this node would have no traffic to addresses of both networks (also networks of eth1: 10.132.7.7/32)$",
			},
		},
		"a node of OVN-Kubernetes that has joined": {
			known: ovnDual + ", masquerade 169.254.0.0/17, masquerade 10.200.0.0/24", hasJoined: true, dns: "172.31.0.10",
			addresses: "br-ex 192.0.2.7/24, br-ex 169.254.169.2/29, br-ex 169.254.0.2/17, br-ex 10.200.0.2/24, " +
				"br-ex fd69::2/112, ovn-k8s-mp0 10.132.0.2/23, ovn-k8s-mp0 fd01::2/64, lo 172.31.0.1/32",
			routes: "br-ex default 192.0.2.1, br-ex 172.31.0.0/16 169.254.169.4, br-ex 169.254.169.0/29, " +
				"ovn-k8s-mp0 10.132.0.0/14 10.132.0.1, ovn-k8s-mp0 10.132.0.0/23, ovn-k8s-mp0 169.254.169.3/32 10.132.0.1, " +
				"br-ex fd02::/112 fd69::4, br-ex fd69::/112, br-ex 10.200.0.0/24, ovn-k8s-mp1 10.132.8.0/24, " +
				"br-ex 10.134.2.0/24 192.0.2.8, genev_sys_6081 10.132.9.0/24, br-ex 172.31.0.0/16 10.200.0.4",
		},
		"a host with routes of OVN-Kubernetes and without a record of its join": {
			known: ovnDual, addresses: "br-ex 192.0.2.7/24, br-ex 169.254.169.2/29, ovn-k8s-mp0 10.132.0.2/23",
			routes: "br-ex 172.31.0.0/16 169.254.169.4, br-ex fd02::/112 fd69::4, ovn-k8s-mp0 10.132.0.0/14 10.132.0.1",
		},
		"a node that has joined, with a masquerade network that is not known": {
			hasJoined: true, addresses: "br-ex 192.0.2.7/24, br-ex 169.254.64.2/18",
		},
		"a node that has joined, with a network that was added later": {
			known: ovnCluster, hasJoined: true, addresses: "br-ex 192.0.2.7/24, docker0 172.31.0.1/16",
			want: []string{"problem: network 172.31.0.0/16 of docker0"},
		},
		"link-local routes of zeroconf and of a cloud": {
			addresses: uplink, routes: "eth0 169.254.0.0/16, eth0 169.254.169.254/32 192.0.2.1, eth0 fe80::/64",
		},
		"an address in the masquerade network": {
			known: ovnCluster + ", masquerade 169.254.0.0/17", addresses: uplink + ", idrac 169.254.1.2/24",
			want: []string{
				"problem: address 169.254.1.2 of idrac overlaps the masquerade network of OVN-Kubernetes 169.254.0.0/17",
			},
		},
		"a link-local address outside of the masquerade network": {
			known: ovnCluster + ", masquerade 169.254.169.0/29", addresses: uplink + ", eth1 169.254.200.9/16",
		},
		"default networks of OVN-Kubernetes": {
			addresses: "eth0 100.64.1.7/16, eth1 100.88.0.9/24, eth2 169.254.1.2/24, eth3 fd97::1/64",
			want: []string{
				"warning: network 100.64.0.0/16 of eth0 overlaps the join network of OVN-Kubernetes, 100.64.0.0/16 unless",
				"warning: network 100.88.0.0/24 of eth1 overlaps the transit network of OVN-Kubernetes, 100.88.0.0/16",
				"warning: network fd97::/64 of eth3 overlaps the transit network",
				"warning: address 169.254.1.2 of eth2 overlaps the masquerade network of OVN-Kubernetes, 169.254.0.0/17",
			},
		},
		"other networks than the defaults": {
			known: "pods 10.132.0.0/14, join 100.65.0.0/16, transit 100.89.0.0/16", addresses: "eth0 100.64.1.7/16",
		},
		"another network plugin": {addresses: "eth0 100.64.1.7/16", isOther: true},
		"another network plugin, by the join token": {
			known: "pods 10.132.0.0/14, services 172.31.0.0/16", addresses: "eth0 100.64.1.7/16",
		},
		"the cluster DNS service": {
			addresses: uplink + ", docker0 172.16.0.1/12", dns: "172.31.0.10",
			want: []string{"problem: network 172.16.0.0/12 of docker0 contains 172.31.0.10, the address of the cluster DNS"},
		},
		"the cluster DNS service behind a router": {
			addresses: uplink, routes: "eth0 172.16.0.0/12 192.0.2.1", dns: "172.31.0.10",
			want: []string{"warning: the route to 172.16.0.0/12 over eth0 contains 172.31.0.10"},
		},
		"a use of a later version": {
			known: ovnCluster + ", tunnels 10.99.0.0/16", addresses: "eth0 10.99.0.7/24",
			want: []string{"problem: network 10.99.0.0/24 of eth0 overlaps the network for tunnels 10.99.0.0/16 of the cluster"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			facts := NetworkFacts{
				Addresses: addressesOf(test.addresses), Routes: routesOf(test.routes), Known: clusterOf(t, test.known),
				AssumesOVN: !test.isOther, HasJoined: test.hasJoined,
				NodeAddresses: []netip.Addr{netip.MustParseAddr("192.0.2.7"), netip.MustParseAddr("10.132.0.7")},
			}
			if test.dns != "" {
				facts.ClusterDNS = []netip.Addr{netip.MustParseAddr(test.dns)}
			}
			findings := checkClusterNetworks(facts)
			var got []string
			for i, finding := range findings {
				text := string(finding.Severity) + ": " + finding.Message + "$"
				if i < len(test.want) && strings.HasPrefix(text, test.want[i]) {
					text = test.want[i]
				}
				got = append(got, text)
				if finding.RefusesJoin != (finding.Severity == report.SeverityProblem) || finding.Remedy == "" {
					t.Errorf("%+v", finding)
				}
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestNetworkRemediesNameField(t *testing.T) {
	for text, want := range map[string]string{
		"pods 10.132.0.0/14":        "spec.networking.clusterNetwork of a new HostedCluster",
		"services fd02::/112":       "spec.networking.serviceNetwork of a new HostedCluster",
		"join 100.64.0.0/16":        "ovnKubernetesConfig.ipv4.internalJoinSubnet of the HostedCluster",
		"transit fd97::/64":         "ovnKubernetesConfig.ipv6.internalTransitSwitchSubnet of the HostedCluster",
		"masquerade 169.254.0.0/17": "gatewayConfig.ipv4.internalMasqueradeSubnet of networks.operator.openshift.io",
		"tunnels 10.99.0.0/16":      "# change or remove that network of the host",
	} {
		network := clusterNetwork{ClusterNetwork: clusterOf(t, text)[0]}
		if got := string(networkRemedy(network)); !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}
