// SPDX-License-Identifier: Apache-2.0

package install

import (
	"context"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hcp-node-agent/hcp-node-agent/internal/api/v1alpha1"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// waits is a sink that calls then for each wait.
type waits struct{ then func() }

func (w *waits) Emit(event report.Event) {
	if event.Kind == report.Waiting {
		w.then()
	}
}

// expiring is a context whose time is over when it is canceled.
type expiring struct{ context.Context }

func (e expiring) Err() error {
	if e.Context.Err() != nil {
		return context.DeadlineExceeded
	}
	return nil
}

// The wait for the pods names the cause if they do not run, and ends when they are ready.
func TestAwaitAvailable(t *testing.T) {
	waiting := func(reason, message string) corev1.PodStatus {
		return corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{
			State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}},
		}}}
	}
	unschedulable := corev1.PodStatus{Conditions: []corev1.PodCondition{{
		Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Message: "no node fits",
	}}}
	const awaited = "waiting until Deployment hcp-node-admin/hcp-node-admin-controller is available on the management " +
		"cluster: 0 of 2 replicas"
	for name, test := range map[string]struct {
		pod  corev1.PodStatus
		want string
	}{
		"no cause":      {waiting("ContainerCreating", ""), awaited},
		"unschedulable": {unschedulable, awaited + "; pod admin: no node fits"},
		"image":         {waiting("ImagePullBackOff", "no image"), awaited + "; pod admin: ImagePullBackOff: no image"},
		"no message":    {waiting("CrashLoopBackOff", ""), awaited + "; pod admin: CrashLoopBackOff"},
	} {
		t.Run(name, func(t *testing.T) {
			c := startClusters(t)
			c.install(t, nil)
			deployment := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: v1alpha1.Namespace, Name: controllerName}}
			if !c.management.Get(t, deployment) {
				t.Fatal("no Deployment")
			}
			c.management.Set(t, &corev1.Pod{
				ObjectMeta: metav1.ObjectMeta{
					Namespace: v1alpha1.Namespace, Name: "admin", Labels: deployment.Spec.Selector.MatchLabels,
				},
				Status: test.pod,
			})
			ctx, cancel := context.WithCancel(t.Context())
			log := &waits{then: cancel}
			i := c.installer(t, func(i *Installer) { i.Wait, i.Log = true, report.Log{Sink: log} })
			_, err := i.Install(expiring{ctx})
			if report.CodeOf(err) != report.Failed || err.Error() != "timed out after 1h0m0s "+test.want ||
				!strings.Contains(string(report.RemedyOf(err)), "-n hcp-node-admin describe pods ") {
				t.Errorf("%v; remedy %q", err, report.RemedyOf(err))
			}
			log.then = func() {
				deployment.Status = appsv1.DeploymentStatus{UpdatedReplicas: 2, AvailableReplicas: 2, Replicas: 2}
				c.management.Set(t, deployment)
			}
			if _, err := i.Install(t.Context()); err != nil {
				t.Errorf("when the pods are ready: %v", err)
			}
		})
	}
}

func TestAwaitIsInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	i := startClusters(t).installer(t, func(i *Installer) { i.Wait, i.Log = true, report.Log{Sink: &waits{then: cancel}} })
	_, err := i.Install(ctx)
	if report.CodeOf(err) != report.Interrupted || !strings.HasPrefix(err.Error(), "interrupted while waiting until ") {
		t.Errorf("%v", err)
	}
}
