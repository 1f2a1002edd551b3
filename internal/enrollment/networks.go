// SPDX-License-Identifier: Apache-2.0

package enrollment

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"github.com/hcp-node-agent/hcp-node-agent/internal/schema"
)

// NetworkUse is the use of a network of a cluster.
type NetworkUse string

// Uses of networks. The last three are internal networks of OVN-Kubernetes.
const (
	Pods       NetworkUse = "pods"
	Services   NetworkUse = "services"
	Join       NetworkUse = "join"       // between the routers of a node
	Transit    NetworkUse = "transit"    // between nodes
	Masquerade NetworkUse = "masquerade" // addresses of a node for its own traffic to Services
)

// Enum returns all uses.
func (NetworkUse) Enum() []string { return schema.Strings(Pods, Services, Join, Transit, Masquerade) }

// ClusterNetwork is a network of a hosted cluster, with which no network of a host may overlap.
type ClusterNetwork struct {
	Use  NetworkUse   `json:"use" doc:"use of the network"`
	CIDR netip.Prefix `json:"cidr" doc:"the network as ADDRESS/LENGTH"`
}

// MaxNetworks is the maximum number of networks in a join token.
const MaxNetworks = 64

// checkNetworks returns an error unless each network is valid. It accepts a use that this version does not know.
func checkNetworks(networks []ClusterNetwork) error {
	if len(networks) > MaxNetworks {
		return fmt.Errorf("clusterNetworks: %d entries; at most %d are allowed", len(networks), MaxNetworks)
	}
	for i, network := range networks {
		switch address := network.CIDR.Addr(); {
		case network.Use == "" || len(network.Use) > 63:
			return errors.New("clusterNetworks: use is missing, or longer than 63 characters")
		case !network.CIDR.IsValid(), address.Is4In6(), network.CIDR != network.CIDR.Masked():
			return fmt.Errorf("clusterNetworks: %q is not a network such as 10.132.0.0/14", network.CIDR)
		case slices.Contains(networks[:i], network):
			return fmt.Errorf("clusterNetworks: duplicate entry %q", network.CIDR)
		}
	}
	return nil
}
