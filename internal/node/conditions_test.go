// SPDX-License-Identifier: Apache-2.0

package node

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostinfo"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/systemd"
)

func TestDiagnose(t *testing.T) {
	oldBoot := nodeWith("True", "KubeletReady", "")
	oldBoot.Status.NodeInfo.BootID = "before"
	upgraded := nodeWith("True", "KubeletReady", "")
	upgraded.Spec.Unschedulable, upgraded.Annotations = true, map[string]string{string(ForUpgrade): "2026-01-02T03:04:05Z"}
	tainted := nodeWith("True", "KubeletReady", "")
	tainted.Spec.Taints = []corev1.Taint{
		{Key: "team", Effect: "NoSchedule"},
		{Key: "UpdateInProgress", Effect: "PreferNoSchedule"},
	}
	soft := nodeWith("True", "KubeletReady", "")
	soft.Spec.Taints = tainted.Spec.Taints[1:]
	beat := metav1.NewTime(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	silent := nodeWith("Unknown", "NodeStatusUnknown", "Kubelet stopped posting node status.")
	silent.Status.Conditions[0].LastHeartbeatTime = beat
	noSubnet := notReady(cniMessage)

	creating := corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ContainerCreating"}}
	unpullable := corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{
		Reason:  "ErrImagePull",
		Message: "manifest unknown",
	}}
	running := corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}
	ovn := podOf("openshift-ovn-kubernetes", "ovnkube-node-x", true, unpullable)
	dns := podOf("openshift-dns", "dns-default-x", false, creating)
	proxy := podOf("kube-system", "kube-apiserver-proxy-worker-1", true, creating)
	resolver := podOf("openshift-dns", "node-resolver-x", true, unpullable)
	controller := podOf("openshift-ovn-kubernetes", "ovnkube-node-x", true, running)
	controller.Status.ContainerStatuses[0].Name = "ovnkube-controller"
	served := controller.DeepCopy()
	served.Status.Phase, served.Status.ContainerStatuses[0].Ready = corev1.PodRunning, true
	multus := podOf("openshift-multus", "multus-x", true, unpullable)
	failed := func(name, needed string, lines ...string) unitFacts {
		return unitFacts{
			name:       name,
			requiredBy: needed,
			state:      systemd.UnitState{Load: "loaded", Active: "failed", Result: "exit-code"},
			errors:     lines,
		}
	}
	machine := hostFacts{cniDir: "/etc/kubernetes/cni/net.d"}
	journal := func(lines ...string) hostFacts { return hostFacts{recentErrors: lines} }
	nearlyFull := func(path string) hostinfo.Usage {
		return hostinfo.Usage{
			Path:   path,
			Size:   30 << 30,
			Free:   1 << 30,
			Inodes: 100,
			Unused: 97,
		}
	}
	full := hostFacts{
		disks:        []hostinfo.Usage{nearlyFull("/var/lib/kubelet"), nearlyFull("/var/lib/containers")},
		availableKiB: 80 << 10, totalKiB: 8 << 20, tasks: 32000, maxTasks: 32768,
	}
	pressed := func(kind corev1.NodeConditionType) *corev1.Node {
		return nodeWith("False", "KubeletNotReady", "x", corev1.NodeCondition{
			Type:    kind,
			Status:  "True",
			Reason:  "R",
			Message: "m",
		})
	}

	tests := map[string]struct {
		facts facts
		want  []string // "severity text | remedy", in order
	}{
		"all well":        {facts{node: nodeWith("True", "KubeletReady", ""), pods: []*corev1.Pod{ovn}}, nil},
		"only preference": {facts{node: soft}, nil},
		"no Node": {facts{hostState: journal(`"Attempting" err="Post \"https://a:6443/api/v1/nodes\": dial tcp: ` +
			`lookup a on 192.0.2.1:53: no such host"`)}, []string{
			"problem kubelet has not registered Node worker-1 yet: DNS does not resolve a (192.0.2.1:53 no such host) | " +
				"getent ahosts a; cat /etc/resolv.conf",
		}},
		"Node deleted": {facts{deleted: true}, []string{
			"problem Node worker-1 was deleted from the cluster; kubelet registers it again only after a restart | " +
				"hcp-node-agent join # restarts kubelet",
		}},
		"no Node, crio down": {facts{hostState: hostFacts{units: []unitFacts{failed("crio.service", systemd.KubeletUnit,
			`level=fatal msg="no runtime"`), failed(systemd.KubeletUnit, "")}}}, []string{
			"problem crio.service, which kubelet.service requires, is not running (failed, exit-code); last error: no runtime " +
				"| journalctl -b -u crio.service",
			"problem kubelet.service is not running (failed, exit-code) | journalctl -b -u kubelet.service",
			"problem kubelet has not registered Node worker-1 yet | journalctl -u kubelet -b",
		}},
		"unit not found": {facts{
			node: notReady("x"),
			hostState: hostFacts{units: []unitFacts{{
				name: "openvswitch.service", requiredBy: "crio.service",
				state: systemd.UnitState{Load: "not-found", Active: "inactive"},
			}}},
		}, []string{
			"problem openvswitch.service, which crio.service requires, does not exist on this host (Unit openvswitch.service " +
				"not found) | dnf install openvswitch3.5 # or another version: dnf list 'openvswitch3*'\nsystemctl start kubelet",
			"problem KubeletNotReady: x | journalctl -u kubelet -b",
		}},
		"kubelet restarting, wrong flag": {facts{node: silent, hostState: hostFacts{units: []unitFacts{{
			name: systemd.KubeletUnit, state: systemd.UnitState{
				Active: "activating", Sub: "auto-restart",
				Result: "exit-code",
			},
			errors: []string{`"command failed" err="failed to parse kubelet flag: unknown flag: --cni-bin-dir"`},
		}}}}, []string{
			"problem kubelet.service is not running (it exits soon after each start): it does not support the flag " +
				"--cni-bin-dir of its unit: the installed kubelet does not match the payload's release | kubelet --version # " +
				"then install the kubelet of the payload's release and run: systemctl restart kubelet",
			"problem kubelet has not reported its status since 2026-01-02T03:04:05Z (NodeStatusUnknown) | journalctl -u " +
				"kubelet -b",
		}},
		"CRI-O hangs": {facts{
			node:      notReady("container runtime is down"),
			hostState: hostFacts{runtimeErr: errors.New("context deadline exceeded")},
		}, []string{
			"problem CRI-O is running, but does not respond on its socket: context deadline exceeded | journalctl -b -u crio; " +
				"systemctl restart crio # restarts kubelet too",
			"problem kubelet is not connected to CRI-O yet (container runtime is down) | systemctl status crio; journalctl -b " +
				"-u crio",
		}},
		"clock": {facts{node: silent, clockOffset: -2 * time.Hour}, []string{
			"problem this host's clock is 2h0m0s behind the API server's; certificates and leases are not valid | chronyc " +
				"makestep # or: timedatectl set-ntp true",
			"problem kubelet has not reported its status since 2026-01-02T03:04:05Z (NodeStatusUnknown) | journalctl -u " +
				"kubelet -b",
		}},
		"Ready by the report of the kubelet before an upgrade": {facts{node: upgraded, isStale: true}, []string{
			"problem kubelet has not reported its status yet | journalctl -u kubelet -b",
			"problem taint node.kubernetes.io/unschedulable:NoSchedule: hcp-node-agent upgrade cordoned the Node, and " +
				"uncordons it at its end | hcp-node-agent status",
		}},
		"earlier boot": {facts{node: oldBoot}, []string{
			"problem the cluster still has the Node of another boot (before, this boot is this): kubelet has not reported its " +
				"status yet, or another machine uses the same name | journalctl -u kubelet -b",
		}},
		"CNI, pods in their order": {facts{
			node: notReady(cniMessage), hostState: machine,
			pods: []*corev1.Pod{dns, resolver, ovn, proxy},
		}, []string{
			"problem the network plugin has not written its configuration yet (/etc/kubernetes/cni/net.d is empty); pod " +
				"openshift-ovn-kubernetes/ovnkube-node-x is not ready: image quay.io/a/b:1 cannot be pulled: quay.io does not " +
				"have it | crictl pull quay.io/a/b:1",
			"problem pod kube-system/kube-apiserver-proxy-worker-1 is not ready: it is starting | oc -n kube-system describe " +
				"pod kube-apiserver-proxy-worker-1",
			"problem pod openshift-dns/node-resolver-x is not ready: image quay.io/a/b:1 cannot be pulled: quay.io does not " +
				"have it | crictl pull quay.io/a/b:1",
			"problem pod openshift-dns/dns-default-x is not ready: it is waiting for the pod network | oc -n openshift-dns " +
				"describe pod dns-default-x",
		}},
		"CNI, no pods": {facts{node: notReady(cniMessage), hostState: machine}, []string{
			"problem the network plugin has not written its configuration yet (/etc/kubernetes/cni/net.d is empty); no pod is " +
				"assigned to this node yet | oc get clusteroperator network; oc get daemonsets -A",
		}},
		"CNI, none of its pods": {
			facts{node: notReady(cniMessage), hostState: machine, pods: []*corev1.Pod{dns}},
			[]string{
				"problem the network plugin has not written its configuration yet (/etc/kubernetes/cni/net.d is empty); no pod " +
					"of a network plugin is assigned to this node, only openshift-dns/dns-default-x | oc get clusteroperator " +
					"network; oc -n openshift-ovn-kubernetes get daemonsets",
				"problem pod openshift-dns/dns-default-x is not ready: it is waiting for the pod network | oc -n openshift-dns " +
					"describe pod dns-default-x",
			},
		},
		"CNI, pods not known": {
			facts{node: notReady(cniMessage), hostState: machine, podsErr: errors.New("no")},
			[]string{
				"problem the network plugin has not written its configuration yet (/etc/kubernetes/cni/net.d is empty) | oc get " +
					"pods -A -o wide --field-selector spec.nodeName=worker-1",
			},
		},
		"CNI, file exists": {facts{
			node:      notReady(cniMessage),
			hostState: hostFacts{networkConfigs: []string{"10.conflist"}}, pods: []*corev1.Pod{ovn},
		}, []string{
			"problem the network plugin is not running; pod openshift-ovn-kubernetes/ovnkube-node-x is not ready: image " +
				"quay.io/a/b:1 cannot be pulled: quay.io does not have it | crictl pull quay.io/a/b:1",
		}},
		"OVN has no range": {facts{node: noSubnet, hostState: machine, pods: []*corev1.Pod{controller}}, []string{
			"problem OVN-Kubernetes has not assigned Node worker-1 a pod subnet (annotation k8s.ovn.org/node-subnets): its " +
				"control plane is not running; for a hosted cluster it runs on the management cluster and needs Secret " +
				"ovn-control-plane-metrics-cert there | # on the management cluster:\noc -n NAMESPACE-HC get pods -l " +
				"app=ovnkube-control-plane\noc -n NAMESPACE-HC get secret ovn-control-plane-metrics-cert",
			"problem the network plugin has not written its configuration yet (/etc/kubernetes/cni/net.d is empty) | oc get " +
				"pods -A -o wide --field-selector spec.nodeName=worker-1",
			"problem pod openshift-ovn-kubernetes/ovnkube-node-x is not ready: container ovnkube-controller is running, but " +
				"not ready | oc -n openshift-ovn-kubernetes describe pod ovnkube-node-x",
		}},
		"OVN before multus": {
			facts{node: notReady(cniMessage), hostState: machine, pods: []*corev1.Pod{multus, ovn}},
			[]string{
				"problem the network plugin has not written its configuration yet (/etc/kubernetes/cni/net.d is empty); pod " +
					"openshift-ovn-kubernetes/ovnkube-node-x is not ready: image quay.io/a/b:1 cannot be pulled: quay.io does not " +
					"have it | crictl pull quay.io/a/b:1",
				"problem pod openshift-multus/multus-x is not ready: image quay.io/a/b:1 cannot be pulled: quay.io does not have " +
					"it | crictl pull quay.io/a/b:1",
			},
		},
		"OVN is ready without a range": {
			facts{node: noSubnet, hostState: machine, pods: []*corev1.Pod{served}},
			[]string{
				"problem the network plugin has not written its configuration yet (/etc/kubernetes/cni/net.d is empty) | oc get " +
					"pods -A -o wide --field-selector spec.nodeName=worker-1",
			},
		},
		"waits for another unit": {facts{hostState: hostFacts{units: []unitFacts{{
			name:       "nodeip-configuration.service",
			requiredBy: systemd.KubeletUnit, state: systemd.UnitState{
				Load: "loaded", Active: "activating",
				Sub: "start",
			},
		}}}}, []string{
			"problem nodeip-configuration.service, which kubelet.service requires, is still starting | ",
			"problem kubelet has not registered Node worker-1 yet | journalctl -u kubelet -b",
		}},
		"a foreign unit file": {facts{
			node: silent,
			hostState: hostFacts{units: []unitFacts{{
				name:  systemd.KubeletUnit,
				state: systemd.UnitState{Load: "bad-setting", Active: "inactive"},
			}}},
		}, []string{
			"problem kubelet.service has an invalid unit file (bad-setting) | systemd-analyze verify kubelet.service",
			"problem kubelet has not reported its status since 2026-01-02T03:04:05Z (NodeStatusUnknown) | journalctl -u " +
				"kubelet -b",
		}},
		"PLEG": {
			facts{node: notReady("PLEG is not healthy: pleg was last seen active 3m0s ago; threshold is 3m0s")},
			[]string{
				"problem CRI-O does not respond to kubelet's requests about its containers (PLEG is not healthy): CRI-O hangs, " +
					"or the disk is too slow | crictl ps; journalctl -b -u crio; vmstat 1 3",
			},
		},
		"disk, one file system": {facts{node: pressed(corev1.NodeDiskPressure), hostState: full}, []string{
			"problem KubeletNotReady: x | journalctl -u kubelet -b",
			"problem kubelet evicts pods because a disk is nearly full: /var/lib/kubelet has 1.0 GiB of 30.0 GiB free (3 %) " +
				"and 97 % of its inodes; kubelet requires 10 % free space on its own file system, 15 % on CRI-O's, and 5 % free " +
				"inodes | crictl rmi --prune; du -xsh /var/lib/containers /var/lib/kubelet /var/log",
		}},
		"memory": {facts{node: pressed(corev1.NodeMemoryPressure), hostState: full}, []string{
			"problem KubeletNotReady: x | journalctl -u kubelet -b",
			"problem kubelet evicts pods because memory is short: 80 MiB of 8192 MiB are free; kubelet requires 100 MiB | " +
				"free -m; ps -eo rss,args --sort=-rss | head",
		}},
		"processes": {facts{node: pressed(corev1.NodePIDPressure), hostState: full}, []string{
			"problem KubeletNotReady: x | journalctl -u kubelet -b",
			"problem kubelet evicts pods because the node is running out of process IDs: 32000 processes and threads of 32768 " +
				"| ps -eLo pid,args | sort | uniq -c | sort -rn | head; sysctl kernel.pid_max",
		}},
		"routes": {facts{node: pressed(corev1.NodeNetworkUnavailable)}, []string{
			"problem KubeletNotReady: x | journalctl -u kubelet -b",
			"problem NetworkUnavailable (R: m): the network plugin or a route controller sets this condition and clears it | " +
				"oc get pods -A -o wide --field-selector spec.nodeName=worker-1",
		}},
		"Ready and tainted, and a pod": {facts{node: tainted, pods: []*corev1.Pod{ovn, dns}}, []string{
			"problem taint team:NoSchedule: not a taint that Kubernetes or OpenShift sets automatically; an administrator, an " +
				"operator or the NodePool set it and must remove it (set at an unknown time) | oc adm taint node worker-1 team- " +
				"# if nothing requires the taint",
			"warning pod openshift-ovn-kubernetes/ovnkube-node-x is not ready: image quay.io/a/b:1 cannot be pulled: quay.io " +
				"does not have it | crictl pull quay.io/a/b:1",
			"note taint UpdateInProgress:PreferNoSchedule: the machine-config controller sets it while the node's " +
				"configuration is not the desired one, and removes it when the machine-config daemon on the node " +
				"reports Done; a hosted cluster of platform None has neither | oc get node worker-1 -o yaml | grep " +
				"machineconfiguration.openshift.io/",
		}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			test.facts.name, test.facts.bootID = "worker-1", "this"
			var got []string
			for _, f := range diagnose(test.facts) {
				if f.Reason == "" {
					t.Errorf("no reason: %+v", f)
				}
				got = append(got, string(f.Severity)+" "+f.Message+" | "+string(f.Remedy))
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
