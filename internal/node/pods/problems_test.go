// SPDX-License-Identifier: Apache-2.0

package pods

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

type explainPodCase struct {
	spec   corev1.PodSpec
	status corev1.PodStatus
	facts  Evidence
	want   string
	remedy string // its prefix; "" for the default
	sure   bool
}

func TestExplainPod(t *testing.T) {
	for name, test := range explainPodCases() {
		t.Run(name, func(t *testing.T) {
			pod := &corev1.Pod{
				ObjectMeta: metav1.ObjectMeta{Namespace: "openshift-ovn-kubernetes", Name: "p"},
				Spec:       test.spec, Status: test.status,
			}
			got := explainPod(pod, test.facts)
			if got == nil {
				got = &Problem{Pod: pod}
			}
			if got.Reason != test.want || got.CauseKnown != test.sure {
				t.Errorf("explainPod() = %q (%v)\nwant         %q (%v)", got.Reason, got.CauseKnown, test.want, test.sure)
			}
			if test.remedy == "" {
				test.remedy = "oc -n openshift-ovn-kubernetes describe pod p"
			}
			if !strings.HasPrefix(string(got.Remedy()), test.remedy) {
				t.Errorf("remedy = %q, want %q", got.Remedy(), test.remedy)
			}
			if strings.Contains(strings.Join(got.Details, " "), "hunter2canary") {
				t.Errorf("a secret is in the details: %q", got.Details)
			}
		})
	}
}

func TestStaticPodOfOtherPlatform(t *testing.T) {
	ended := corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 1}}
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "openshift-vsphere-infra", Name: "keepalived-worker-1",
			Annotations: map[string]string{corev1.MirrorPodAnnotationKey: "x"},
		},
		Spec:   corev1.PodSpec{NodeName: "worker-1", HostNetwork: true},
		Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{Name: "main", State: ended}}},
	}
	got := Problems([]*corev1.Pod{pod}, Evidence{})
	const want = "container main exited with code 1; it is a static pod of platform vsphere, which a worker in another " +
		"network does not need"
	if len(got) != 1 || got[0].Reason != want ||
		got[0].Remedy() != "hcp-node-agent leave # then: hcp-node-agent join --user-data USER_DATA --payload-drop "+
			"/etc/kubernetes/manifests/keepalived.yaml" {
		t.Errorf("podProblems() = %+v", got)
	}
}
