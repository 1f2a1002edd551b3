// SPDX-License-Identifier: Apache-2.0

package upgrade

import (
	"slices"
	"strings"
)

// rule is the effect of changes of some paths.
type rule struct {
	paths  []string // a directory ends with a slash
	action Action
	drain  bool
	reason string
}

// rules are checked in order; the first that matches a path decides. The model is the node
// disruption policy of the machine-config-operator and its built-in entries.
var rules = []rule{
	{
		paths:  []string{"/etc/containers/registries.conf", "/etc/containers/registries.conf.d/", "/etc/containers/registries.d/", "/etc/containers/policy.json"},
		action: ReloadCRIO, reason: "CRI-O reads it when it is reloaded",
	},
	{
		paths:  []string{"/etc/pki/ca-trust/source/anchors/"},
		action: RestartCRIO, reason: "CRI-O reads the trusted CAs when it starts",
	},
	{
		paths:  []string{"/var/lib/kubelet/config.json", "/etc/docker/certs.d/", "/etc/mco/internal-registry-pull-secret.json"},
		action: Nothing, reason: "kubelet and CRI-O read it at each pull",
	},
	{
		paths:  []string{"/etc/kubernetes/kubelet-ca.crt", "/etc/kubernetes/ca.crt"},
		action: Nothing, reason: "kubelet notices changes of its CAs",
	},
	{
		paths:  []string{"/etc/kubernetes/manifests/"},
		action: Nothing, reason: "kubelet replaces changed static pods",
	},
	{
		paths:  staticPodConfigPaths(),
		action: RestartStaticPod, reason: "the static pod that uses it reads it when it starts",
	},
	{
		paths:  []string{"/etc/kubernetes/kubeconfig", "/etc/machine-config-daemon/", "/etc/mcs-machine-config-content.json"},
		action: Nothing, reason: "it describes the payload or is used only for the join",
	},
	{
		paths: []string{
			"/etc/kubernetes/kubelet.conf", "/etc/openshift/kubelet.conf.d/", "/etc/kubernetes/cloud.conf", "/etc/node-sizing-enabled.env",
			"/etc/systemd/system/kubelet.service", "/etc/systemd/system/kubelet.service.d/",
		},
		action: RestartKubelet, drain: true, reason: "kubelet reads it when it starts, and can then reject running pods",
	},
	{
		paths: []string{
			"/etc/crio/", "/etc/containers/storage.conf", "/etc/cni/net.d/",
			"/etc/systemd/system/crio.service", "/etc/systemd/system/crio.service.d/",
		},
		action: RestartCRIO, drain: true, reason: "CRI-O reads it when it starts, and uses it for new containers",
	},
	{
		paths:  []string{"/etc/NetworkManager/dispatcher.d/"},
		action: Nothing, reason: "NetworkManager runs it at the next event",
	},
	{
		paths:  []string{"/etc/NetworkManager/"},
		action: RestartNetworkManager, drain: true, reason: "NetworkManager reads it when it starts",
	},
	{
		paths: []string{
			"/etc/systemd/system/ovs-configuration.service", "/etc/systemd/system/nodeip-configuration.service", "/etc/systemd/system/NetworkManager",
			"/etc/systemd/system/openvswitch.service", "/etc/systemd/system/ovs-vswitchd.service", "/etc/systemd/system/ovsdb-server.service",
			"/etc/systemd/system/hcp-node-agent",
		},
		action: AtBoot, reason: "a restart of the unit interrupts the network of the host",
	},
	{
		paths:  []string{"/etc/sysctl.d/", "/etc/modules-load.d/", "/etc/chrony.conf", "/etc/chrony.d/", "/etc/audit/rules.d/", "/etc/systemd/system.conf", "/etc/systemd/system.conf.d/"},
		action: Nothing, reason: "the agent loads it",
	},
}

// StaticPodConfig is a file or directory that a static pod of the payload reads only when it starts.
type StaticPodConfig struct {
	Namespace, Pod string // without the name of the Node
	Path           string // a directory ends with a slash
}

// StaticPodConfigs returns the configuration of the static pods of all known releases.
func StaticPodConfigs() []StaticPodConfig {
	return []StaticPodConfig{
		{"kube-system", "kube-apiserver-proxy", "/etc/kubernetes/apiserver-proxy-config/"},
		{"openshift-machine-config-operator", "kube-rbac-proxy-crio", "/etc/kubernetes/crio-metrics-proxy.cfg"},
	}
}

func staticPodConfigPaths() []string {
	var paths []string
	for _, config := range StaticPodConfigs() {
		paths = append(paths, config.Path)
	}
	return paths
}

// findRule returns the first rule for a path. Rules for units match their drop-ins too.
func findRule(target string) (rule, bool) {
	at := slices.IndexFunc(rules, func(r rule) bool {
		return slices.ContainsFunc(r.paths, func(p string) bool {
			isPrefix := strings.HasSuffix(p, "/") || r.action == AtBoot
			return target == p || (isPrefix && strings.HasPrefix(target, p))
		})
	})
	if at < 0 {
		return rule{}, false
	}
	return rules[at], true
}
