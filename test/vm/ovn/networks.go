// SPDX-License-Identifier: Apache-2.0

package ovn

import (
	"fmt"
	"strings"
	"text/template"
)

// networks are the networks and addresses of a cluster. Those of the control plane are in package stack of
// test/controlplane.
type networks struct {
	Pods, Services string // as in ovnkube.conf
	Family         string // of EndpointSlices
	Proxy          string // the address of each node's own API proxy
	DNS, Service   string // the addresses of Services
}

// networksOf returns the networks of a cluster with address families, see bed.Options.
func networksOf(stack string) networks {
	n := networks{
		Pods: "10.132.0.0/14/23", Services: "172.31.0.0/16", Family: "IPv4", Proxy: "172.20.0.1", DNS: "172.31.0.10",
		Service: "172.31.0.80",
	}
	if stack == "ipv4" {
		return n
	}
	six := networks{
		Pods: "fd01::/48/64", Services: "fd02::/112", Family: "IPv6", Proxy: "fd00::1", DNS: "fd02::a", Service: "fd02::50",
	}
	if stack == "dual-ipv6" {
		six.Pods, six.Services = six.Pods+","+n.Pods, six.Services+","+n.Services
	}
	return six
}

// fill returns a configuration with the networks.
func (n networks) fill(text string) (string, error) {
	parsed, err := template.New("ovnkube.conf").Parse(text)
	if err != nil {
		return "", fmt.Errorf("parsing the configuration of OVN-Kubernetes: %w", err)
	}
	var out strings.Builder
	err = parsed.Execute(&out, n)
	return out.String(), err
}

// HostAddress returns the address of the control plane as the machine sees it.
func (c *Cluster) HostAddress() string {
	address, _, _ := strings.Cut(c.ControlPlane.HostAddress, "/")
	return address
}
