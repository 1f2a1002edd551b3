package ovs

import (
	"fmt"
	"net/netip"
	"strings"

	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
)

const (
	// appliedFile makes configure-ovs.sh leave br-ex alone, from OpenShift 4.16.
	appliedFile = "/etc/nmstate/openshift/applied"
	// uplinkHintFile is where configure-ovs.sh remembers the uplink.
	uplinkHintFile = "/var/lib/ovnk/iface_default_hint"

	kubeletDropin = "/etc/systemd/system/kubelet.service.d/20-nodenet.conf"
	crioDropin    = "/etc/systemd/system/crio.service.d/20-nodenet.conf"
	nodeIPDir     = "/run/nodeip-configuration"
	nodeIPTmpfile = "/etc/tmpfiles.d/hcp-node-agent-nodeip.conf"
)

// Files are what others look for on a host whose uplink is in br-ex: that the
// bridge is not theirs to make, and which addresses the node has. They are
// what configure-ovs.sh and nodeip-configuration.service leave behind. Those
// in /run are made again at every boot by systemd-tmpfiles: where the units
// are enabled that wait for them, kubelet would not start without. Call it
// when br-ex is there.
func Files(facts Facts) ([]ledger.Change, error) {
	uplink, ok := bridgedUplink(facts)
	if !ok {
		return nil, fmt.Errorf("br-ex is not there, so there is nothing to tell others about it")
	}
	node := NodeIP(facts.Links, facts.Routes, facts.NodeIPHint)
	if !node.Primary().IsValid() {
		return nil, refuse("ip -br address   and NODEIP_HINT in /etc/default/nodeip-configuration",
			"no address of this host can be the node's address (hint: %q)", facts.NodeIPHint)
	}
	change := func(path, why, content string) ledger.Change {
		return ledger.Change{Kind: ledger.File, Target: path, Why: why, Want: ledger.FileState([]byte(content), 0o644)}
	}
	all := strings.ReplaceAll(join(node.All()), " ", "")
	changes := []ledger.Change{
		change(appliedFile, "ovs-configuration.service must leave br-ex alone", "# br-ex was made by hcp-node-agent\n"),
		change(uplinkHintFile, "names the uplink of br-ex", uplink+"\n"),
		change(kubeletDropin, "the node's address", fmt.Sprintf(
			"[Service]\nEnvironment=\"KUBELET_NODE_IP=%s\" \"KUBELET_NODE_IPS=%s\"\n", node.Primary(), all)),
		change(crioDropin, "the node's address", fmt.Sprintf(
			"[Service]\nEnvironment=\"CONTAINER_STREAM_ADDRESS=%s\"\n", node.Primary())),
	}
	tmpfile := "# Written by hcp-node-agent: /run is empty after a boot.\nd " + nodeIPDir + " 0755 root root - -\n"
	for _, runtime := range []struct{ name, address string }{
		{"primary-ip", node.Primary().String()}, {"ipv4", text(node.IPv4)}, {"ipv6", text(node.IPv6)},
	} {
		if runtime.address == "" {
			continue
		}
		path := nodeIPDir + "/" + runtime.name
		changes = append(changes, change(path, "the node's address", runtime.address))
		tmpfile += fmt.Sprintf("f %s 0644 root root - %s\n", path, runtime.address)
	}
	return append(changes, change(nodeIPTmpfile, "makes the files in "+nodeIPDir+" again at boot", tmpfile)), nil
}

// text is an address, or "" for none.
func text(address netip.Addr) string {
	if !address.IsValid() {
		return ""
	}
	return address.String()
}
