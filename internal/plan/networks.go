// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"net/netip"
	"slices"
	"strings"

	"github.com/hcp-node-agent/hcp-node-agent/internal/enrollment"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostnet"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition"
	"github.com/hcp-node-agent/hcp-node-agent/internal/preflight"
	"github.com/hcp-node-agent/hcp-node-agent/internal/steps"
)

// NetworkFacts gathers the facts for the check of the host's networks. The payload is nil if it was not loaded. The
// facts are zero for a joined host with another network plugin than OVN-Kubernetes: routes of the host and of the
// plugin cannot be distinguished.
func (s *Session) NetworkFacts(uplink *Uplink, payload *ignition.Payload) (preflight.NetworkFacts, error) {
	facts := preflight.NetworkFacts{AssumesOVN: true}
	if token := s.Run.JoinToken; token != nil {
		facts.Known = token.Networks
	}
	if payload != nil {
		facts.AssumesOVN = usesOVN(payload)
		config, err := payload.KubeletConfig()
		if err != nil {
			return facts, err
		}
		facts.ClusterDNS = config.DNSAddresses()
		facts.Known = append(slices.Clone(facts.Known), proxiedServices(payload, facts)...)
	}
	isCertified := slices.Contains(s.Run.State.Completed, steps.ClientCertificate)
	facts.HasJoined = isCertified || !s.Run.State.Finished.IsZero()
	hasOther := facts.IsKnown(enrollment.Pods) && !facts.IsKnown(enrollment.Join)
	if facts.HasJoined && (hasOther || !facts.AssumesOVN) {
		return preflight.NetworkFacts{}, nil
	}
	if uplink.facts != nil {
		facts.NodeAddresses = uplink.facts.NodeAddresses().All()
	}
	var err error
	if facts.Addresses, err = hostnet.LinkAddresses(); err != nil {
		return facts, err
	}
	facts.Routes, err = hostnet.TableRoutes()
	return facts, err
}

// usesOVN reports whether the payload may be that of a cluster with OVN-Kubernetes. Its ovs-configuration.service
// passes the network plugin to configure-ovs.sh.
func usesOVN(payload *ignition.Payload) bool {
	for _, unit := range payload.Config.Systemd.Units {
		if unit.Name == "ovs-configuration.service" && unit.Contents != nil && *unit.Contents != "" {
			return strings.Contains(*unit.Contents, "OVNKubernetes")
		}
	}
	return true
}

// proxiedServices returns the service networks of a payload with a proxy, unless they are known. NO_PROXY contains all
// networks of the cluster without their uses, and others of the administrator. The narrowest network that contains the
// address of the DNS service is a service network, or part of one.
func proxiedServices(payload *ignition.Payload, facts preflight.NetworkFacts) []enrollment.ClusterNetwork {
	if facts.IsKnown(enrollment.Services) {
		return nil
	}
	var networks []enrollment.ClusterNetwork
	for _, dns := range facts.ClusterDNS {
		var narrowest netip.Prefix
		for _, text := range payloadProxy(payload).No {
			prefix, err := netip.ParsePrefix(strings.TrimSpace(text))
			if err == nil && prefix.Contains(dns) && prefix.Bits() > narrowest.Bits() {
				narrowest = prefix.Masked()
			}
		}
		network := enrollment.ClusterNetwork{Use: enrollment.Services, CIDR: narrowest}
		if narrowest.IsValid() && !slices.Contains(networks, network) {
			networks = append(networks, network)
		}
	}
	return networks
}
