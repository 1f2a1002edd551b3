package node

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

type explainPodCase struct {
	spec   corev1.PodSpec
	status corev1.PodStatus
	facts  facts
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
				got = &podProblem{pod: pod}
			}
			if got.reason != test.want || got.causeKnown != test.sure {
				t.Errorf("explainPod() = %q (%v)\nwant         %q (%v)", got.reason, got.causeKnown, test.want, test.sure)
			}
			if test.remedy == "" {
				test.remedy = "oc -n openshift-ovn-kubernetes describe pod p"
			}
			if !strings.HasPrefix(string(got.command()), test.remedy) {
				t.Errorf("remedy = %q, want %q", got.command(), test.remedy)
			}
			if strings.Contains(strings.Join(got.details, " "), "hunter2canary") {
				t.Errorf("a secret is in the details: %q", got.details)
			}
		})
	}
}
