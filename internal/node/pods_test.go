package node

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestExplainPod(t *testing.T) {
	yes, no := true, false
	running := corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}
	waiting := func(reason, message string) corev1.ContainerState {
		return corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}}
	}
	ended := func(code int32, reason, message string) corev1.ContainerState {
		return corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: code, Reason: reason, Message: message}}
	}
	one := func(phase corev1.PodPhase, s corev1.ContainerStatus) corev1.PodStatus {
		s.Name, s.Image = "main", "resolved"
		return corev1.PodStatus{Phase: phase, ContainerStatuses: []corev1.ContainerStatus{s}}
	}
	secret := func(name string, optional *bool) corev1.PodSpec {
		return corev1.PodSpec{
			Containers: []corev1.Container{{Name: "main", Image: "quay.io/a/b:1"}},
			Volumes:    []corev1.Volume{{Name: "v", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: name, Optional: optional}}}},
		}
	}
	plainSpec := secret("there", nil)
	gone := func(name string, optional bool) facts {
		return facts{missing: []reference{{kind: "Secret", namespace: "openshift-ovn-kubernetes", name: name, optional: optional}}}
	}
	journal := func(lines ...string) facts { return facts{hostState: hostFacts{kubeletErrors: lines}} }
	noNetwork := journal(`"Error syncing pod, skipping" err="network is not ready: container runtime network not ready: NetworkReady=false reason:NetworkPluginNotReady" pod="openshift-ovn-kubernetes/p" podUID="1"`)
	noNetwork.node = notReady(cniMessage)

	tests := map[string]struct {
		spec   corev1.PodSpec
		status corev1.PodStatus
		facts  facts
		want   string
		remedy string // its prefix; "" for the default
		sure   bool
	}{
		"runs":          {plainSpec, one("Running", corev1.ContainerStatus{Ready: true, State: running}), facts{}, "", "", false},
		"ended well":    {plainSpec, corev1.PodStatus{Phase: "Succeeded"}, facts{}, "", "", false},
		"just assigned": {plainSpec, corev1.PodStatus{Phase: "Pending"}, facts{}, "it is being started", "", false},
		"waits for the network": {
			plainSpec, one("Pending", corev1.ContainerStatus{State: waiting("ContainerCreating", "")}), noNetwork, "it waits for the pod network", "", false,
		},
		"sandbox": {
			plainSpec, one("Pending", corev1.ContainerStatus{State: waiting("ContainerCreating", "")}),
			journal(`"CreatePodSandbox for pod failed" err="rpc error: code = Unknown desc = error creating pod sandbox: pause image: not today" pod="openshift-ovn-kubernetes/p"`, `"other" pod="ns/other"`),
			"kubelet cannot start it: CreatePodSandbox for pod failed: rpc error: code = Unknown desc = error creating pod sandbox: pause image: not today", "", false,
		},
		"kubelet's first moment with it": {
			plainSpec, one("Pending", corev1.ContainerStatus{State: waiting("ContainerCreating", "")}),
			journal(`Operation for "{x}" failed. Error: MountVolume.SetUp failed for volume "v" pod "p" : object "openshift-ovn-kubernetes"/"there" not registered pod="openshift-ovn-kubernetes/p"`),
			"it is being started", "", false,
		},
		"pause image": {
			plainSpec, one("Pending", corev1.ContainerStatus{State: waiting("ContainerCreating", "")}),
			journal(`"CreatePodSandbox for pod failed" err="rpc error: code = Unknown desc = error creating pod sandbox with name \"k8s_p\": initializing source docker://registry.k8s.io/pause:3.10: pinging container registry registry.k8s.io: Get \"https://registry.k8s.io/v2/\": dial tcp: lookup registry.k8s.io on 192.0.2.1:53: no such host" pod="openshift-ovn-kubernetes/p"`),
			"CRI-O's pause image registry.k8s.io/pause:3.10 cannot be pulled: DNS of this host gives no address for registry.k8s.io (192.0.2.1:53 no such host)", "crio config", true,
		},
		"cgroup drivers": {
			plainSpec, one("Pending", corev1.ContainerStatus{State: waiting("ContainerCreating", "")}),
			journal(`"CreatePodSandbox for pod failed" err="rpc error: cri-o configured with systemd cgroup manager, but did not receive slice as parent: /kubepods" pod="openshift-ovn-kubernetes/p"`),
			"kubelet cannot start it: kubelet and CRI-O use different cgroup drivers (CRI-O's is systemd)", "crio config", true,
		},

		"metrics certificate": {
			secret("ovn-node-metrics-cert", nil), one("Pending", corev1.ContainerStatus{State: waiting("ContainerCreating", "")}), gone("ovn-node-metrics-cert", false),
			"Secret openshift-ovn-kubernetes/ovn-node-metrics-cert, which it needs, does not exist; the service-ca operator makes it for Service ovn-kubernetes-node; its pods run on the cluster's nodes, so one node has to be Ready",
			"oc -n openshift-service-ca-operator get pods", true,
		},
		"metrics certificate, optional": {
			secret("ovn-node-metrics-cert", &yes), one("Running", corev1.ContainerStatus{State: running}), gone("ovn-node-metrics-cert", true),
			"container main runs, but is not ready; Secret openshift-ovn-kubernetes/ovn-node-metrics-cert, which it can use, does not exist; the service-ca operator makes it for Service ovn-kubernetes-node; its pods run on the cluster's nodes, so one node has to be Ready",
			"oc -n openshift-service-ca-operator get pods", false,
		},
		"a secret of nobody": {
			secret("mine", &no), one("Pending", corev1.ContainerStatus{State: waiting("CreateContainerConfigError", `secret "mine" not found`)}), gone("mine", false),
			"Secret openshift-ovn-kubernetes/mine, which it needs, does not exist", "oc -n openshift-ovn-kubernetes get secret mine", true,
		},
		"a key": {
			plainSpec, one("Pending", corev1.ContainerStatus{State: waiting("CreateContainerConfigError", "couldn't find key tls.crt in Secret openshift-ovn-kubernetes/there")}),
			facts{},
			"Secret openshift-ovn-kubernetes/there has no key tls.crt, which container main needs", "", true,
		},
		"cannot start": {
			plainSpec, one("Pending", corev1.ContainerStatus{State: waiting("CreateContainerError", `exec: "/x": permission denied`)}),
			facts{},
			`container main cannot be started: exec: "/x": permission denied`, "", true,
		},

		"pull": {
			plainSpec, one("Pending", corev1.ContainerStatus{State: waiting("ErrImagePull", "reading manifest 1 in quay.io/a/b: manifest unknown")}),
			facts{},
			"image quay.io/a/b:1 cannot be pulled: quay.io does not have it", "crictl pull quay.io/a/b:1", true,
		},
		"pull, waiting, new kubelet": {
			plainSpec, one("Pending", corev1.ContainerStatus{State: waiting("ImagePullBackOff", `Back-off pulling image "quay.io/a/b:1": ErrImagePull: reading manifest 1 in quay.io/a/b: manifest unknown`)}),
			facts{},
			"image quay.io/a/b:1 cannot be pulled: quay.io does not have it", "crictl pull quay.io/a/b:1", true,
		},
		"pull, waiting, old kubelet": {
			plainSpec, one("Pending", corev1.ContainerStatus{State: waiting("ImagePullBackOff", `Back-off pulling image "quay.io/a/b:1"`)}),
			journal(`"Failed to pull image" err="rpc error: reading manifest 1 in quay.io/a/b: manifest unknown" image="quay.io/a/b:1"`, `"Error syncing pod, skipping" err="failed with ImagePullBackOff: \"Back-off pulling image quay.io/a/b:1\""`),
			"image quay.io/a/b:1 cannot be pulled: quay.io does not have it", "crictl pull quay.io/a/b:1", true,
		},

		"crashed": {
			plainSpec, one("Running", corev1.ContainerStatus{State: ended(3, "Error", "starting\nno config\n")}),
			facts{},
			"container main ended with exit code 3: no config", "oc -n openshift-ovn-kubernetes logs p -c main --previous", true,
		},
		"crashed, waiting": {
			plainSpec, one("Running", corev1.ContainerStatus{State: waiting("CrashLoopBackOff", "back-off 5m"), LastTerminationState: ended(3, "Error", "no config")}),
			facts{},
			"container main ended with exit code 3: no config", "oc -n", true,
		},
		"crashed, started again": {
			plainSpec, one("Running", corev1.ContainerStatus{State: running, RestartCount: 2, LastTerminationState: ended(3, "Error", "no config")}),
			facts{},
			"container main ended with exit code 3: no config", "oc -n", true,
		},
		"no service network": {
			plainSpec, one("Running", corev1.ContainerStatus{State: ended(1, "Error", `F main.go: Get "https://172.30.0.1:443/api": dial tcp 172.30.0.1:443: i/o timeout`)}),
			facts{},
			"container main ended with exit code 1: it does not reach 172.30.0.1:443 (i/o timeout); that is the cluster's service network, which the network plugin (before it: kube-proxy) sets up on this node", "oc -n", true,
		},
		"memory": {plainSpec, one("Running", corev1.ContainerStatus{State: ended(137, "OOMKilled", "")}), facts{}, "container main was ended by the kernel: it took more memory than its limit", "oc -n", true},
		"secret in its last word": {
			plainSpec, one("Running", corev1.ContainerStatus{State: ended(1, "Error", "login failed, password=hunter2canary")}),
			facts{},
			"container main ended with exit code 1: login failed, password=***", "oc -n", true,
		},

		"not ready": {plainSpec, one("Running", corev1.ContainerStatus{State: running}), facts{}, "container main runs, but is not ready", "", false},
		"init failed": {
			plainSpec,
			corev1.PodStatus{Phase: "Pending", InitContainerStatuses: []corev1.ContainerStatus{{Name: "i", State: ended(1, "Error", "")}}},
			facts{},
			"init container i ended with exit code 1", "oc -n", true,
		},
		"init runs": {
			plainSpec,
			corev1.PodStatus{Phase: "Pending", InitContainerStatuses: []corev1.ContainerStatus{{Name: "i", State: running}}, ContainerStatuses: []corev1.ContainerStatus{{Name: "main", State: waiting("PodInitializing", "")}}},
			facts{},
			"init container i is running", "", false,
		},
		"init done, sidecar": {
			plainSpec,
			corev1.PodStatus{Phase: "Running", InitContainerStatuses: []corev1.ContainerStatus{{Name: "i", State: ended(0, "", "")}, {Name: "s", State: running, Started: &yes}}, ContainerStatuses: []corev1.ContainerStatus{{Name: "main", Ready: true, State: running}}},
			facts{},
			"", "", false,
		},

		"evicted": {plainSpec, corev1.PodStatus{Phase: "Failed", Reason: "Evicted", Message: "The node was low on resource: ephemeral-storage."}, facts{}, "kubelet evicted it: The node was low on resource: ephemeral-storage.", "", true},
		"no room": {
			plainSpec,
			corev1.PodStatus{Phase: "Failed", Reason: "OutOfcpu", Message: "Pod was rejected: Node didn't have enough resource: cpu, requested: 200, used: 400, capacity: 500"},
			facts{},
			"this node has too little cpu left for it (Pod was rejected: Node didn't have enough resource: cpu, requested: 200, used: 400, capacity: 500)", "oc describe node", true,
		},
		"labels": {plainSpec, corev1.PodStatus{Phase: "Failed", Reason: "NodeAffinity", Message: "Predicate NodeAffinity failed"}, facts{}, "its node selector or affinity does not fit this Node's labels (Predicate NodeAffinity failed)", "oc get node", true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "openshift-ovn-kubernetes", Name: "p"}, Spec: test.spec, Status: test.status}
			got := explainPod(pod, test.facts)
			if got == nil {
				got = &podProblem{pod: pod}
			}
			if got.reason != test.want || got.causeKnown != test.sure {
				t.Errorf("whyNotUp() = %q (%v)\nwant         %q (%v)", got.reason, got.causeKnown, test.want, test.sure)
			}
			if test.remedy == "" {
				test.remedy = "oc -n openshift-ovn-kubernetes describe pod p"
			}
			if !strings.HasPrefix(got.command(), test.remedy) {
				t.Errorf("remedy = %q, want %q", got.command(), test.remedy)
			}
			if strings.Contains(strings.Join(got.details, " "), "hunter2canary") {
				t.Errorf("a secret is in the details: %q", got.details)
			}
		})
	}
}

func TestReferences(t *testing.T) {
	yes := true
	spec := corev1.PodSpec{
		ImagePullSecrets: []corev1.LocalObjectReference{{Name: "pull"}},
		InitContainers:   []corev1.Container{{EnvFrom: []corev1.EnvFromSource{{SecretRef: &corev1.SecretEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "env"}}}}}},
		Containers: []corev1.Container{{Env: []corev1.EnvVar{
			{Name: "plain", Value: "x"},
			{Name: "key", ValueFrom: &corev1.EnvVarSource{ConfigMapKeyRef: &corev1.ConfigMapKeySelector{LocalObjectReference: corev1.LocalObjectReference{Name: "keyed"}, Optional: &yes}}},
		}}},
		Volumes: []corev1.Volume{
			{VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: "files"}}}},
			{VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{
				{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{}},
				{ConfigMap: &corev1.ConfigMapProjection{LocalObjectReference: corev1.LocalObjectReference{Name: "kube-root-ca.crt"}}},
				{Secret: &corev1.SecretProjection{LocalObjectReference: corev1.LocalObjectReference{Name: "projected"}}},
			}}}},
		},
	}
	var got []string
	for _, r := range references(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "n"}, Spec: spec}) {
		text := r.String()
		if r.optional {
			text += "?"
		}
		got = append(got, text)
	}
	const want = "ConfigMap n/files, ConfigMap n/kube-root-ca.crt, Secret n/projected, Secret n/env, ConfigMap n/keyed?, Secret n/pull?"
	if strings.Join(got, ", ") != want {
		t.Errorf("references() = %s\nwant %s", strings.Join(got, ", "), want)
	}
}

func TestStaticPodOfOtherPlatform(t *testing.T) {
	pod := podOf("openshift-vsphere-infra", "keepalived-worker-1", true, corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 1}})
	pod.Annotations = map[string]string{corev1.MirrorPodAnnotationKey: "x"}
	got := podProblems(facts{pods: []*corev1.Pod{pod}})
	const want = "container main ended with exit code 1; it is a static pod of platform vsphere, which a worker in another network does not need"
	if len(got) != 1 || got[0].reason != want || got[0].command() != "hcp-node-agent leave # and then: hcp-node-agent join --user-data STUB --payload-drop /etc/kubernetes/manifests/keepalived.yaml" {
		t.Errorf("podTroubles() = %+v", got)
	}
}
