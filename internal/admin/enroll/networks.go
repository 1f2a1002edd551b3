// SPDX-License-Identifier: Apache-2.0

package enroll

import (
	"cmp"
	"context"
	"encoding/json"
	"net/netip"
	"slices"

	"github.com/hcp-node-agent/hcp-node-agent/internal/enrollment"
	"github.com/hcp-node-agent/hcp-node-agent/internal/kube"
)

// networkPath is the path of the configuration of the cluster-network-operator, which only OpenShift has.
const networkPath = "/apis/operator.openshift.io/v1/networks/cluster"

// networkSpec is the part of the configuration of the cluster-network-operator that names networks. The operator
// stores clusterNetwork and serviceNetwork in it, but no defaults of OVN-Kubernetes.
type networkSpec struct {
	ClusterNetwork []struct {
		CIDR string `json:"cidr"`
	} `json:"clusterNetwork"`
	ServiceNetwork []string `json:"serviceNetwork"`
	DefaultNetwork struct {
		Type string `json:"type"`
		OVN  struct {
			V4InternalSubnet string       `json:"v4InternalSubnet"` // before internalJoinSubnet existed
			V6InternalSubnet string       `json:"v6InternalSubnet"`
			IPv4             internalNets `json:"ipv4"`
			IPv6             internalNets `json:"ipv6"`
			Gateway          struct {
				IPv4 gatewayNets `json:"ipv4"`
				IPv6 gatewayNets `json:"ipv6"`
			} `json:"gatewayConfig"`
		} `json:"ovnKubernetesConfig"`
	} `json:"defaultNetwork"`
}

type internalNets struct {
	Join    string `json:"internalJoinSubnet"`
	Transit string `json:"internalTransitSwitchSubnet"`
}

type gatewayNets struct {
	Masquerade string `json:"internalMasqueradeSubnet"`
}

// networks returns the networks of the cluster for the join tokens. It returns nil if the cluster is not OpenShift, or
// if its configuration cannot be read: hosts then check the defaults of OVN-Kubernetes.
func (c Cluster) networks(ctx context.Context) []enrollment.ClusterNetwork {
	content, err := kube.Send(ctx, c.REST.Get().AbsPath(networkPath))
	var object struct {
		Spec networkSpec `json:"spec"`
	}
	if err != nil || json.Unmarshal(content, &object) != nil {
		return nil
	}
	return object.Spec.networks()
}

// networks returns the networks, with the defaults of OVN-Kubernetes for its join and transit networks. It returns no
// masquerade network by default, because the default depends on the release that created the cluster.
func (s networkSpec) networks() []enrollment.ClusterNetwork {
	var list []enrollment.ClusterNetwork
	add := func(use enrollment.NetworkUse, cidr string) {
		prefix, err := netip.ParsePrefix(cidr)
		network := enrollment.ClusterNetwork{Use: use, CIDR: prefix.Masked()}
		if err == nil && !prefix.Addr().Is4In6() && len(list) < enrollment.MaxNetworks && !slices.Contains(list, network) {
			list = append(list, network)
		}
	}
	for _, one := range s.ClusterNetwork {
		add(enrollment.Pods, one.CIDR)
	}
	hasFamily := map[bool]bool{} // by whether it is IPv4
	for _, network := range list {
		hasFamily[network.CIDR.Addr().Is4()] = true
	}
	for _, cidr := range s.ServiceNetwork {
		add(enrollment.Services, cidr)
	}
	if s.DefaultNetwork.Type != "OVNKubernetes" {
		return list
	}
	ovn := s.DefaultNetwork.OVN
	if hasFamily[true] {
		add(enrollment.Join, cmp.Or(ovn.IPv4.Join, ovn.V4InternalSubnet, "100.64.0.0/16"))
		add(enrollment.Transit, cmp.Or(ovn.IPv4.Transit, "100.88.0.0/16"))
		add(enrollment.Masquerade, ovn.Gateway.IPv4.Masquerade)
	}
	if hasFamily[false] {
		add(enrollment.Join, cmp.Or(ovn.IPv6.Join, ovn.V6InternalSubnet, "fd98::/64"))
		add(enrollment.Transit, cmp.Or(ovn.IPv6.Transit, "fd97::/64"))
		add(enrollment.Masquerade, ovn.Gateway.IPv6.Masquerade)
	}
	return list
}
