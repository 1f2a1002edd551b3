// SPDX-License-Identifier: Apache-2.0

//go:build controlplane

package maintenance

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/hcp-node-agent/hcp-node-agent/internal/joinstate"
	"github.com/hcp-node-agent/hcp-node-agent/internal/machine"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/test/flowtest"
	"github.com/hcp-node-agent/hcp-node-agent/test/kubetest"
	"github.com/hcp-node-agent/hcp-node-agent/test/waittest"
)

func TestMain(m *testing.M) { os.Exit(kubetest.Run(m)) }

// A maintenance cordons and uncordons the node with its own credential. A cordon by the administrator
// remains, also if the drain is undone.
func TestControlPlaneCordon(t *testing.T) {
	for name, isCordoned := range map[string]bool{"maintained": false, "cordoned-before": true} {
		t.Run(name, func(t *testing.T) {
			kubeconfig := kubetest.NodeKubeconfig(t, name)
			kubetest.CreateNode(t, kubetest.Connect(t, kubeconfig), name)
			nodes := kubetest.AdminClient(t).CoreV1().Nodes()
			patch := fmt.Sprintf(`{"spec":{"taints":null,"unschedulable":%t}}`, isCordoned)
			_, err := nodes.Patch(t.Context(), name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
			flowtest.NoError(t, err)
			check := func(when string, want bool) {
				t.Helper()
				node, err := nodes.Get(t.Context(), name, metav1.GetOptions{})
				if err != nil || node.Spec.Unschedulable != want {
					t.Errorf("%s: cordoned %t, want %t (%v)", when, node.Spec.Unschedulable, want, err)
				}
			}
			f := &flow{
				dir: t.TempDir(), machine: &machine.Machine{}, state: joinstate.State{NodeName: name},
				kubeconfig: kubeconfig,
			}
			ctx := waittest.Context(t)

			flowtest.NoError(t, f.begin(ctx))
			_, err = drain(ctx, f, report.Log{})
			flowtest.NoError(t, err)
			check("drained", true)
			cause := errors.New("dnf failed")
			if err := f.undo(ctx, cause); !errors.Is(err, cause) || f.record != nil ||
				joinstate.CheckNoMaintenance(f.dir) != nil {
				t.Errorf("undo: %v, record %+v", err, f.record)
			}
			check("undone", isCordoned)

			flowtest.NoError(t, f.begin(ctx))
			_, err = drain(ctx, f, report.Log{})
			flowtest.NoError(t, err)
			f.record.Updated = true
			if err := f.explain(f.undo(ctx, cause)); !errors.Is(err, cause) ||
				!strings.Contains(string(report.RemedyOf(err)), "# resumes the maintenance") {
				t.Errorf("after a change: %v (remedy %q)", err, report.RemedyOf(err))
			}
			check("after a change of the host", true)
			outcome, err := uncordon(ctx, f, report.Log{})
			if err != nil || outcome.Changed == isCordoned {
				t.Errorf("uncordon: %+v, %v", outcome, err)
			}
			check("at the end", isCordoned)
			flowtest.NoError(t, f.finish(report.Log{}))
			flowtest.NoError(t, joinstate.CheckNoMaintenance(f.dir))
		})
	}
}

// A pod that no controller recreates prevents the maintenance before the drain.
func TestControlPlaneCheckOfLostPods(t *testing.T) {
	const name = "with-a-pod"
	kubeconfig := kubetest.NodeKubeconfig(t, name)
	kubetest.CreateNode(t, kubetest.Connect(t, kubeconfig), name)
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "lost", Namespace: "default"},
		Spec:       corev1.PodSpec{NodeName: name, Containers: []corev1.Container{{Name: "c", Image: "example.com/pause"}}},
	}
	_, err := kubetest.AdminClient(t).CoreV1().Pods("default").Create(t.Context(), pod, metav1.CreateOptions{})
	flowtest.NoError(t, err)
	f := &flow{
		options: Options{NoUpdate: true, Reboot: true}, dir: t.TempDir(), machine: &machine.Machine{},
		state: joinstate.State{NodeName: name}, kubeconfig: kubeconfig,
	}
	_, err = checkHost(waittest.Context(t), f, report.Log{})
	if report.CodeOf(err) != report.Refused || !strings.Contains(err.Error(), "default/lost") {
		t.Errorf("%v", err)
	}
	if f.record != nil {
		t.Errorf("the refused maintenance has the record %+v", f.record)
	}
}
