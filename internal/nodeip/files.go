// SPDX-License-Identifier: Apache-2.0

package nodeip

import (
	"fmt"
	"net/netip"
	"strings"

	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
)

const (
	// KubeletDropIn sets the node's addresses in kubelet's environment.
	KubeletDropIn = "/etc/systemd/system/kubelet.service.d/20-nodenet.conf"
	crioDropIn    = "/etc/systemd/system/crio.service.d/20-nodenet.conf"

	// PrimaryFile contains the node's primary address since the last boot.
	PrimaryFile = runtimeDir + "/primary-ip"
	runtimeDir  = "/run/nodeip-configuration"
)

const reason = "node IP"

// Files returns the files with which nodeip-configuration.service passes the
// node's addresses to kubelet, CRI-O and the cluster's units. At least one
// address must be valid. Files in /run do not survive a boot; units that wait for
// them would keep kubelet from starting.
func Files(addresses Addresses) []ledger.Change {
	all := strings.ReplaceAll(Format(addresses.All()), ", ", ",")
	kubelet := fmt.Sprintf("[Service]\nEnvironment=\"KUBELET_NODE_IP=%s\" \"KUBELET_NODE_IPS=%s\"\n",
		addresses.Primary(), all)
	crio := fmt.Sprintf("[Service]\nEnvironment=\"CONTAINER_STREAM_ADDRESS=%s\"\n", addresses.Primary())
	return []ledger.Change{
		ledger.FileChange(KubeletDropIn, reason, kubelet),
		ledger.FileChange(crioDropIn, reason, crio),
		runtimeFile(PrimaryFile, addresses.Primary()),
		runtimeFile(runtimeDir+"/ipv4", addresses.IPv4),
		runtimeFile(runtimeDir+"/ipv6", addresses.IPv6),
	}
}

// runtimeFile returns a file with the address, or its removal if the address is
// not valid.
func runtimeFile(path string, address netip.Addr) ledger.Change {
	if !address.IsValid() {
		return ledger.Change{Kind: ledger.File, Target: path, Reason: "the node has no address of this family"}
	}
	return ledger.FileChange(path, reason, address.String())
}

// parseDropIn returns the addresses in the content of KubeletDropIn. It returns
// none for content that Files did not write.
func parseDropIn(content []byte) Addresses {
	_, rest, _ := strings.Cut(string(content), `"KUBELET_NODE_IPS=`)
	list, _, _ := strings.Cut(rest, `"`)
	return parseList(list)
}

func parseList(list string) Addresses {
	var addresses Addresses
	for text := range strings.SplitSeq(list, ",") {
		if address, err := netip.ParseAddr(text); err == nil {
			addresses.IPv6First = addresses.IPv6First || (address.Is6() && !addresses.IPv4.IsValid())
			addresses.set(address)
		}
	}
	return addresses
}
