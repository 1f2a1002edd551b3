// SPDX-License-Identifier: Apache-2.0

// Package rhcos describes the files with which a host of RHEL CoreOS (RHCOS) runs the agent beside the units of its
// payload.
package rhcos

// AgentPath is the path of the agent on a host whose image does not contain the agent. On RHCOS /usr/local is a link to
// a directory in /var, which updates of the image keep.
const AgentPath = "/usr/local/bin/hcp-node-agent"

// AgentTarget is the path to which AgentPath leads. RHEL bootc has the directory in /var, but not always the link.
const AgentTarget = "/var/usrlocal/bin/hcp-node-agent"

// HoldKubeletPath is the path of the file that prevents the start of kubelet while an update of the image is applied.
const HoldKubeletPath = "/var/lib/hcp-node-agent/hold-kubelet"

// The drop-in that holds kubelet.
const (
	kubeletUnit = "kubelet.service"
	dropInName  = "10-hcp-node-agent.conf"

	// KubeletDropInPath is the path of the drop-in on the host.
	KubeletDropInPath = "/etc/systemd/system/" + kubeletUnit + ".d/" + dropInName
)

// KubeletDropIn is the content of the drop-in for kubelet.service. kubelet starts only if it has a client certificate,
// and if the file HoldKubeletPath does not exist.
const KubeletDropIn = `# hcp-node-agent requests kubelet's client certificate with the join token, and then starts
# kubelet. Without this condition kubelet would request the certificate without the join token.
# The second file holds kubelet while an update of the image is applied.
[Unit]
ConditionPathExists=/var/lib/kubelet/kubeconfig
ConditionPathExists=!` + HoldKubeletPath + `
`
