// SPDX-License-Identifier: Apache-2.0

package pods

import (
	corev1 "k8s.io/api/core/v1"
)

// explainPodCases returns pods, what else is known, and their explanation.
func explainPodCases() map[string]explainPodCase {
	yes := true
	running := corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}
	waiting := func(reason, message string) corev1.ContainerState {
		return corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}}
	}
	ended := func(code int32, reason, message string) corev1.ContainerState {
		terminated := corev1.ContainerStateTerminated{ExitCode: code, Reason: reason, Message: message}
		return corev1.ContainerState{Terminated: &terminated}
	}
	one := func(phase corev1.PodPhase, s corev1.ContainerStatus) corev1.PodStatus {
		s.Name, s.Image = "main", "resolved"
		return corev1.PodStatus{Phase: phase, ContainerStatuses: []corev1.ContainerStatus{s}}
	}
	plainSpec := corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "quay.io/a/b:1"}}}
	journal := func(lines ...string) Evidence { return Evidence{KubeletErrors: lines} }
	noNetwork := journal(`"Error syncing pod, skipping" err="network is not ready: container runtime network not ` +
		`ready: NetworkReady=false reason:NetworkPluginNotReady" pod="openshift-ovn-kubernetes/p" podUID="1"`)
	noNetwork.NetworkMissing = true

	return map[string]explainPodCase{
		"runs":          {spec: plainSpec, status: one("Running", corev1.ContainerStatus{Ready: true, State: running})},
		"ended well":    {spec: plainSpec, status: corev1.PodStatus{Phase: "Succeeded"}},
		"just assigned": {spec: plainSpec, status: corev1.PodStatus{Phase: "Pending"}, want: "it is starting"},
		"waits for the network": {
			spec:   plainSpec,
			status: one("Pending", corev1.ContainerStatus{State: waiting("ContainerCreating", "")}),
			facts:  noNetwork,
			want:   "it is waiting for the pod network",
		},
		"sandbox": {
			spec:   plainSpec,
			status: one("Pending", corev1.ContainerStatus{State: waiting("ContainerCreating", "")}),
			facts: journal(`"CreatePodSandbox for pod failed" err="rpc error: code = Unknown desc = error creating `+
				`pod sandbox: pause image: not today" pod="openshift-ovn-kubernetes/p"`, `"other" pod="ns/other"`),
			want: "kubelet cannot start it: CreatePodSandbox for pod failed: rpc error: code = Unknown desc = " +
				"error creating pod sandbox: pause image: not today",
		},
		"kubelet's first moment with it": {
			spec:   plainSpec,
			status: one("Pending", corev1.ContainerStatus{State: waiting("ContainerCreating", "")}),
			facts: journal(`Operation for "{x}" failed. Error: MountVolume.SetUp failed for volume "v" pod "p" : ` +
				`object "openshift-ovn-kubernetes"/"there" not registered pod="openshift-ovn-kubernetes/p"`),
			want: "it is starting",
		},
		"pause image": {
			spec:   plainSpec,
			status: one("Pending", corev1.ContainerStatus{State: waiting("ContainerCreating", "")}),
			facts: journal(`"CreatePodSandbox for pod failed" err="rpc error: code = Unknown desc = error creating ` +
				`pod sandbox with name \"k8s_p\": initializing source docker://registry.k8s.io/pause:3.10: pinging ` +
				`container registry registry.k8s.io: Get \"https://registry.k8s.io/v2/\": dial tcp: lookup ` +
				`registry.k8s.io on 192.0.2.1:53: no such host" pod="openshift-ovn-kubernetes/p"`),
			want: "CRI-O's pause image registry.k8s.io/pause:3.10 cannot be pulled: this host's DNS does not resolve " +
				"registry.k8s.io (192.0.2.1:53 no such host)",
			remedy: "crio config",
			sure:   true,
		},
		"cgroup drivers": {
			spec:   plainSpec,
			status: one("Pending", corev1.ContainerStatus{State: waiting("ContainerCreating", "")}),
			facts: journal(`"CreatePodSandbox for pod failed" err="rpc error: cri-o configured with systemd cgroup ` +
				`manager, but did not receive slice as parent: /kubepods" pod="openshift-ovn-kubernetes/p"`),
			want:   "kubelet cannot start it: kubelet and CRI-O use different cgroup drivers (CRI-O's is systemd)",
			remedy: "crio config",
			sure:   true,
		},

		// Field report: a node stayed NotReady until its metrics certificates existed.
		"missing Secret of a volume": {
			spec:   plainSpec,
			status: one("Pending", corev1.ContainerStatus{State: waiting("ContainerCreating", "")}),
			facts: journal(`nestedpendingoperations.go:348] Operation for "{volumeName:kubernetes.io/secret/1-cert `+
				`podName:1 nodeName:}" failed. No retries permitted until 2026-01-01 00:00:00 (durationBeforeRetry `+
				`500ms). Error: MountVolume.SetUp failed for volume "cert" (UniqueName: "kubernetes.io/secret/1-cert") `+
				`pod "p" (UID: "1") : secret "ovn-node-metrics-cert" not found pod="openshift-ovn-kubernetes/p"`,
				`"Error syncing pod, skipping" err="unmounted volumes=[cert], unattached volumes=[], failed to process `+
					`volumes=[]: context deadline exceeded" pod="openshift-ovn-kubernetes/p" podUID="1"`),
			want:   "Secret openshift-ovn-kubernetes/ovn-node-metrics-cert, which it requires, does not exist",
			remedy: "oc -n openshift-ovn-kubernetes get secret ovn-node-metrics-cert",
			sure:   true,
		},
		"missing ConfigMap of a volume, quoted": {
			spec:   plainSpec,
			status: one("Pending", corev1.ContainerStatus{State: waiting("ContainerCreating", "")}),
			facts: journal(`"MountVolume failed" err="configmap \"dns-default\" not found" `+
				`pod="openshift-ovn-kubernetes/p"`, `"MountVolume failed" err="secret \"x\" not found" pod="other/p"`),
			want:   "ConfigMap openshift-ovn-kubernetes/dns-default, which it requires, does not exist",
			remedy: "oc -n openshift-ovn-kubernetes get configmap dns-default",
			sure:   true,
		},
		"missing Secret of a variable": {
			spec: plainSpec,
			status: one("Pending",
				corev1.ContainerStatus{State: waiting("CreateContainerConfigError", `secret "mine" not found`)}),
			want:   "Secret openshift-ovn-kubernetes/mine, which it requires, does not exist",
			remedy: "oc -n openshift-ovn-kubernetes get secret mine",
			sure:   true,
		},
		"a key": {
			spec: plainSpec,
			status: one("Pending",
				corev1.ContainerStatus{State: waiting("CreateContainerConfigError",
					"couldn't find key tls.crt in Secret openshift-ovn-kubernetes/there")}),
			want: "Secret openshift-ovn-kubernetes/there has no key tls.crt, which container main requires",
			sure: true,
		},
		"cannot start": {
			spec: plainSpec,
			status: one("Pending",
				corev1.ContainerStatus{State: waiting("CreateContainerError", `exec: "/x": permission denied`)}),
			want: `container main cannot be started: exec: "/x": permission denied`,
			sure: true,
		},

		"pull": {
			spec: plainSpec,
			status: one("Pending",
				corev1.ContainerStatus{State: waiting("ErrImagePull",
					"reading manifest 1 in quay.io/a/b: manifest unknown")}),
			want:   "image quay.io/a/b:1 cannot be pulled: quay.io does not have it",
			remedy: "crictl pull quay.io/a/b:1",
			sure:   true,
		},
		"pull, waiting, new kubelet": {
			spec: plainSpec,
			status: one("Pending",
				corev1.ContainerStatus{State: waiting("ImagePullBackOff",
					`Back-off pulling image "quay.io/a/b:1": ErrImagePull: reading manifest 1 in quay.io/a/b: `+
						`manifest unknown`)}),
			want:   "image quay.io/a/b:1 cannot be pulled: quay.io does not have it",
			remedy: "crictl pull quay.io/a/b:1",
			sure:   true,
		},
		"pull, waiting, old kubelet": {
			spec: plainSpec,
			status: one("Pending",
				corev1.ContainerStatus{State: waiting("ImagePullBackOff", `Back-off pulling image "quay.io/a/b:1"`)}),
			facts: journal(`"Failed to pull image" err="rpc error: reading manifest 1 in quay.io/a/b: manifest `+
				`unknown" image="quay.io/a/b:1"`, `"Error syncing pod, skipping" err="failed with ImagePullBackOff: `+
				`\"Back-off pulling image quay.io/a/b:1\""`),
			want:   "image quay.io/a/b:1 cannot be pulled: quay.io does not have it",
			remedy: "crictl pull quay.io/a/b:1",
			sure:   true,
		},

		"crashed": {
			spec:   plainSpec,
			status: one("Running", corev1.ContainerStatus{State: ended(3, "Error", "starting\nno config\n")}),
			want:   "container main exited with code 3: no config",
			remedy: "oc -n openshift-ovn-kubernetes logs p -c main --previous",
			sure:   true,
		},
		"crashed, waiting": {
			spec: plainSpec,
			status: one("Running",
				corev1.ContainerStatus{
					State:                waiting("CrashLoopBackOff", "back-off 5m"),
					LastTerminationState: ended(3, "Error", "no config"),
				}),
			want:   "container main exited with code 3: no config",
			remedy: "oc -n",
			sure:   true,
		},
		"crashed, started again": {
			spec: plainSpec,
			status: one("Running",
				corev1.ContainerStatus{
					State: running, RestartCount: 2,
					LastTerminationState: ended(3, "Error", "no config"),
				}),
			want:   "container main exited with code 3: no config",
			remedy: "oc -n",
			sure:   true,
		},
		"no service network": {
			spec: plainSpec,
			status: one("Running",
				corev1.ContainerStatus{State: ended(1, "Error", `F main.go: Get "https://172.30.0.1:443/api": dial `+
					`tcp 172.30.0.1:443: i/o timeout`)}),
			want: "container main exited with code 1: it cannot reach 172.30.0.1:443 (i/o timeout); this is the cluster's " +
				"service network, which the network plugin (before it: kube-proxy) sets up on this node",
			remedy: "oc -n",
			sure:   true,
		},
		"memory": {
			spec:   plainSpec,
			status: one("Running", corev1.ContainerStatus{State: ended(137, "OOMKilled", "")}),
			want:   "container main was killed by the kernel: it used more memory than its limit",
			remedy: "oc -n",
			sure:   true,
		},
		"secret in its last word": {
			spec: plainSpec,
			status: one("Running",
				corev1.ContainerStatus{State: ended(1, "Error", "login failed, password=hunter2canary")}),
			want:   "container main exited with code 1: login failed, password=***",
			remedy: "oc -n",
			sure:   true,
		},

		"not ready": {
			spec: plainSpec, status: one("Running", corev1.ContainerStatus{State: running}),
			want: "container main is running, but not ready",
		},
		"init failed": {
			spec: plainSpec,
			status: corev1.PodStatus{
				Phase:                 "Pending",
				InitContainerStatuses: []corev1.ContainerStatus{{Name: "i", State: ended(1, "Error", "")}},
			},
			want:   "init container i exited with code 1",
			remedy: "oc -n",
			sure:   true,
		},
		"init runs": {
			spec: plainSpec,
			status: corev1.PodStatus{
				Phase: "Pending",
				InitContainerStatuses: []corev1.ContainerStatus{{
					Name:  "i",
					State: running,
				}}, ContainerStatuses: []corev1.ContainerStatus{{
					Name:  "main",
					State: waiting("PodInitializing", ""),
				}},
			},
			want: "init container i is running",
		},
		"init done, sidecar": {
			spec: plainSpec,
			status: corev1.PodStatus{
				Phase: "Running",
				InitContainerStatuses: []corev1.ContainerStatus{
					{Name: "i", State: ended(0, "", "")},
					{
						Name: "s", State: running,
						Started: &yes,
					},
				}, ContainerStatuses: []corev1.ContainerStatus{{
					Name: "main", Ready: true,
					State: running,
				}},
			},
		},

		"evicted": {
			spec: plainSpec,
			status: corev1.PodStatus{
				Phase: "Failed", Reason: "Evicted",
				Message: "The node was low on resource: ephemeral-storage.",
			},
			want: "kubelet evicted it: The node was low on resource: ephemeral-storage.",
			sure: true,
		},
		"no room": {
			spec: plainSpec,
			status: corev1.PodStatus{
				Phase: "Failed", Reason: "OutOfcpu",
				Message: "Pod was rejected: Node didn't have enough resource: cpu, requested: 200, used: 400, " +
					"capacity: 500",
			},
			want: "this node does not have enough cpu for it (Pod was rejected: Node didn't have enough resource: cpu, " +
				"requested: 200, used: 400, capacity: 500)",
			remedy: "oc describe node",
			sure:   true,
		},
		"labels": {
			spec:   plainSpec,
			status: corev1.PodStatus{Phase: "Failed", Reason: "NodeAffinity", Message: "Predicate NodeAffinity failed"},
			want:   "its node selector or affinity does not match this Node's labels (Predicate NodeAffinity failed)",
			remedy: "oc get node",
			sure:   true,
		},
	}
}
