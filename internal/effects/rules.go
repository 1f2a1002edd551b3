// SPDX-License-Identifier: Apache-2.0

package effects

import (
	"path"
	"slices"
	"strings"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/systemd"
	"github.com/hcp-node-agent/hcp-node-agent/internal/lists"
)

// rule is the effect of changes of some paths.
type rule struct {
	paths  []string // a directory ends with a slash, the beginning of a path with an asterisk
	action Action
	unit   string // that is reloaded or restarted
	pod    StaticPod
	loader Loader
	drain  bool
	reason string
}

// rules are checked in order; the first that matches a path decides. The model is the node
// disruption policy of the machine-config-operator and its built-in entries.
var rules = []rule{
	{
		paths: []string{
			"/etc/containers/registries.conf", "/etc/containers/registries.conf.d/", "/etc/containers/registries.d/",
			"/etc/containers/policy.json",
		},
		action: Reload, unit: systemd.CRIOUnit, reason: "CRI-O reads it when it is reloaded",
	}, {
		// update-ca-trust writes the trust store itself again in each run, so that its time means nothing.
		paths:  []string{"/etc/pki/ca-trust/source/anchors/"},
		action: Restart, unit: systemd.CRIOUnit, reason: "CRI-O reads the trusted CAs when it starts",
	}, {
		paths: []string{
			"/var/lib/kubelet/config.json", "/etc/docker/certs.d/", "/etc/mco/internal-registry-pull-secret.json",
		},
		action: Nothing, reason: "kubelet and CRI-O read it at each pull",
	}, {
		paths:  []string{"/etc/hcp-node-agent/"},
		action: Nothing, reason: "only the agent reads it",
	}, {
		paths:  []string{"/etc/kubernetes/kubelet-ca.crt", "/etc/kubernetes/ca.crt"},
		action: Nothing, reason: "kubelet notices changes of its CAs",
	}, {
		paths:  []string{"/etc/kubernetes/manifests/"},
		action: Nothing, reason: "kubelet replaces changed static pods",
	}, {
		paths:  []string{"/etc/kubernetes/apiserver-proxy-config/"},
		action: RestartStaticPod, pod: StaticPod{Namespace: "kube-system", Name: "kube-apiserver-proxy"},
		reason: "the static pod that uses it reads it when it starts",
	}, {
		paths:  []string{"/etc/kubernetes/crio-metrics-proxy.cfg"},
		action: RestartStaticPod, pod: StaticPod{
			Namespace: "openshift-machine-config-operator",
			Name:      "kube-rbac-proxy-crio",
		},
		reason: "the static pod that uses it reads it when it starts",
	}, {
		paths: []string{
			"/etc/kubernetes/kubeconfig", "/etc/machine-config-daemon/", "/etc/mcs-machine-config-content.json",
		},
		action: Nothing, reason: "it describes the payload or is used only for the join",
	}, {
		// Of kubelet, which the agent writes. It is not in a payload.
		paths:  []string{"/var/lib/kubelet/kubeconfig"},
		action: Restart, unit: systemd.KubeletUnit,
		reason: "kubelet reads the URL and the CAs of the API server when it starts",
	}, {
		paths: []string{
			"/etc/kubernetes/kubelet.conf", "/etc/openshift/kubelet.conf.d/", "/etc/kubernetes/cloud.conf",
			"/etc/node-sizing-enabled.env", "/etc/systemd/system/kubelet.service", "/etc/systemd/system/kubelet.service.d/",
		},
		action: Restart, unit: systemd.KubeletUnit, drain: true,
		reason: "kubelet reads it when it starts, and can then reject running pods",
	}, {
		paths: []string{
			"/etc/crio/", "/etc/containers/storage.conf",
			"/etc/systemd/system/crio.service", "/etc/systemd/system/crio.service.d/",
		},
		action: Restart, unit: systemd.CRIOUnit, drain: true,
		reason: "CRI-O reads it when it starts, and uses it for new containers",
	}, {
		// ocicni watches the directory. Network plugins write there too, at any time.
		paths:  []string{"/etc/cni/net.d/", "/etc/kubernetes/cni/net.d/"},
		action: Nothing, reason: "CRI-O notices changed configurations of network plugins",
	}, {
		paths:  []string{"/etc/NetworkManager/dispatcher.d/"},
		action: Nothing, reason: "NetworkManager runs it at the next event",
	}, {
		paths:  []string{"/etc/NetworkManager/"},
		action: Restart, unit: systemd.NetworkManagerUnit, drain: true, reason: "NetworkManager reads it when it starts",
	}, {
		paths: []string{
			"/etc/systemd/system/ovs-configuration.service*", "/etc/systemd/system/nodeip-configuration.service*",
			"/etc/systemd/system/NetworkManager*", "/etc/systemd/system/openvswitch*", "/etc/systemd/system/ipsec.service*",
			"/etc/systemd/system/ovs-vswitchd.service*", "/etc/systemd/system/ovsdb-server.service*",
			"/etc/systemd/system/hcp-node-agent*",
		},
		action: AtBoot, reason: "a restart of the unit interrupts the network of the host",
	}, {
		paths:  []string{"/etc/sysctl.d/", "/etc/modules-load.d/"},
		action: Nothing, reason: "the agent applies it",
	}, {
		paths:  []string{"/etc/chrony.conf", "/etc/chrony.d/"},
		action: Load, loader: Loader{Name: "chronyd", Command: []string{"systemctl", "try-restart", "chronyd.service"}},
		reason: "chronyd reads it when it starts; the agent restarts it if it applies the settings of the host",
	}, {
		paths:  []string{"/etc/audit/rules.d/"},
		action: Load, loader: Loader{Name: "audit rules", Command: []string{"augenrules", "--load"}},
		reason: "read at boot; the agent loads it if it applies the settings of the host",
	}, {
		paths:  []string{"/etc/systemd/system.conf", "/etc/systemd/system.conf.d/"},
		action: Load, loader: Loader{Name: "systemd", Command: []string{"systemctl", "daemon-reexec"}},
		reason: "read at boot; the agent executes systemd again if it applies the settings of the host",
	},
}

// matches reports whether the rule is for a path.
func (r rule) matches(target string) bool {
	return slices.ContainsFunc(r.paths, func(p string) bool {
		if stem, isPrefix := strings.CutSuffix(p, "*"); isPrefix {
			return strings.HasPrefix(target, stem)
		}
		return target == p || (strings.HasSuffix(p, "/") && strings.HasPrefix(target, p))
	})
}

// Inputs returns the files and directories whose changes take effect by the action on the unit.
func Inputs(action Action, unit string) []string {
	var inputs []string
	for _, r := range rules {
		if r.action == action && r.unit == unit {
			inputs = append(inputs, lists.Map(r.paths, path.Clean)...)
		}
	}
	return inputs
}

// StaticPod is a static pod of the payload that reads its configuration only when it starts.
type StaticPod struct {
	Namespace, Name string   // without the name of the Node
	Paths           []string // files and directories of the configuration
}

// StaticPods returns the static pods of all known releases that must be restarted for their configuration.
func StaticPods() []StaticPod {
	var pods []StaticPod
	for _, r := range rules {
		if r.action == RestartStaticPod {
			r.pod.Paths = lists.Map(r.paths, path.Clean)
			pods = append(pods, r.pod)
		}
	}
	return pods
}

// Loader describes a running service and the command that makes it load its configuration. A join runs
// it if it applies the settings of the host.
type Loader struct {
	Name    string
	Command []string
	Paths   []string // files and directories of the configuration
}

// FindLoader returns the loader of a name, and whether there is one.
func FindLoader(name string) (Loader, bool) {
	for _, r := range rules {
		if r.action == Load && r.loader.Name == name {
			r.loader.Paths = lists.Map(r.paths, path.Clean)
			return r.loader, true
		}
	}
	return Loader{}, false
}
