// SPDX-License-Identifier: Apache-2.0

package node

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/kube"
	"github.com/hcp-node-agent/hcp-node-agent/internal/lists"
	"github.com/hcp-node-agent/hcp-node-agent/internal/wait"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// DefaultDrainTimeout is the maximum time to evict the pods of a node.
const DefaultDrainTimeout = 15 * time.Minute

// ErrPodsWouldBeLost is the cause for which a node is not drained.
var ErrPodsWouldBeLost = errors.New("these pods would be lost, because no controller recreates them on another node")

// minResumedDrain is the minimum time of a resumed drain. After a boot, kubelet must start before it ends pods.
const minResumedDrain = 2 * time.Minute

// drainTimeLeft returns how long a drain may take that began at a time, maybe before a restart of the agent. A time in
// the future is that of a wrong clock and is ignored.
func drainTimeLeft(timeout time.Duration, began, now time.Time) time.Duration {
	timeout = cmp.Or(timeout, DefaultDrainTimeout)
	return max(timeout-max(now.Sub(began), 0), min(timeout, minResumedDrain))
}

// Drain cordons this node's Node for the reason and evicts its pods. The timeout is that of both, from began on;
// DefaultDrainTimeout if it is 0.
func (n *Node) Drain(ctx context.Context, reason CordonReason, timeout time.Duration, began time.Time) error {
	ctx, cancel := context.WithTimeout(ctx, drainTimeLeft(timeout, began, time.Now()))
	defer cancel()
	if err := n.Cordon(ctx, reason); err != nil {
		return err
	}
	return n.Evict(ctx, false)
}

// Evict evicts this node's pods through the eviction API, which a node may use
// for its own pods, and waits until they are gone. Pods of DaemonSets, static
// pods and terminated pods remain. Evict fails before the first eviction if a
// pod has no controller that would recreate it, unless allowLoss is set. ctx limits
// the wait for PodDisruptionBudgets.
func (n *Node) Evict(ctx context.Context, allowLoss bool) error {
	evictable, err := n.evictablePods(ctx, allowLoss)
	if err != nil {
		return err
	}
	for began := time.Now(); ; {
		blocked, err := n.evictPods(ctx, evictable)
		if err != nil {
			return err
		}
		if evictable, err = n.remainingPods(ctx, evictable); err != nil || len(evictable) == 0 {
			return err
		}
		text := "pods still running: " + strings.Join(qualifiedPodNames(evictable), ", ")
		remedy := report.Remedy("oc get pods -A -o wide --field-selector spec.nodeName=" + n.Name)
		if len(blocked) > 0 {
			text = "eviction is not allowed yet: " + strings.Join(blocked, "; ")
			remedy = "oc get poddisruptionbudgets -A"
		}
		n.Log.Wait("waiting for the drain to complete: "+text, remedy)
		if wait.Sleep(ctx, evictionPause(time.Since(began))) != nil {
			return report.WaitError(ctx,
				report.Fail(report.Failed, remedy, "drain timed out: %s", text))
		}
	}
}

// evictionPause returns the time to the next check of the pods, from the time since the first eviction. Pods that end
// quickly do not wait for it, and a long drain sends few requests.
func evictionPause(since time.Duration) time.Duration {
	return min(max(since/4, 250*time.Millisecond), 2*time.Second)
}

// CheckDrain fails if Evict would refuse to evict the pods of this node, because a pod has no controller
// that would recreate it.
func (n *Node) CheckDrain(ctx context.Context) error {
	_, err := n.evictablePods(ctx, false)
	return err
}

// evictablePods returns the pods to evict. It fails if a pod has no controller that would recreate it,
// unless allowLoss is set.
func (n *Node) evictablePods(ctx context.Context, allowLoss bool) ([]*corev1.Pod, error) {
	pods, err := n.listPods(ctx)
	if err != nil {
		return nil, err
	}
	evictable, lost := podsToEvict(pods)
	if len(lost) > 0 && !allowLoss {
		return nil, report.Fail(report.Refused, "# delete them, or manage them with a Deployment",
			"%w: %s", ErrPodsWouldBeLost, strings.Join(lost, ", "))
	}
	return evictable, nil
}

// podsToEvict returns the pods to evict, and the names of those that no
// controller would recreate.
func podsToEvict(pods []*corev1.Pod) (evictable []*corev1.Pod, lost []string) {
	for _, pod := range pods {
		owner := metav1.GetControllerOf(pod)
		_, mirror := pod.Annotations[corev1.MirrorPodAnnotationKey]
		ended := pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
		if mirror || ended || (owner != nil && owner.Kind == "DaemonSet") {
			continue
		}
		evictable = append(evictable, pod)
		if owner == nil {
			lost = append(lost, pod.Namespace+"/"+pod.Name)
		}
	}
	return evictable, lost
}

// evictPods requests the eviction of each pod. blocked lists the pods that may
// not be evicted yet, with the reason.
func (n *Node) evictPods(ctx context.Context, pods []*corev1.Pod) (blocked []string, err error) {
	for _, pod := range pods {
		if pod.DeletionTimestamp != nil {
			continue
		}
		err := n.Conn.Retry(ctx, n.Log, "evicting pod "+pod.Namespace+"/"+pod.Name, func() error {
			err := n.Conn.Client.Evict(ctx, &policyv1.Eviction{
				ObjectMeta:    metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name},
				DeleteOptions: &metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions(string(pod.UID))},
			})
			switch {
			case apierrors.IsTooManyRequests(err):
				blocked = append(blocked, fmt.Sprintf("%s/%s (%s)", pod.Namespace, pod.Name, budgetMessage(err)))
				return nil
			// deleted, or replaced by another pod of this name
			case apierrors.IsNotFound(err), apierrors.IsConflict(err):
				return nil
			}
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return blocked, nil
}

// budgetMessage returns the PodDisruptionBudget's message. The server puts it into
// the causes of a 429, not into its message.
func budgetMessage(err error) string {
	var status apierrors.APIStatus
	if errors.As(err, &status) && status.Status().Details != nil {
		for _, cause := range status.Status().Details.Causes {
			if cause.Type == policyv1.DisruptionBudgetCause {
				return cause.Message
			}
		}
	}
	return err.Error()
}

// remainingPods returns the current state of those pods that still exist.
func (n *Node) remainingPods(ctx context.Context, pods []*corev1.Pod) ([]*corev1.Pod, error) {
	all, err := n.listPods(ctx)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(all, func(current *corev1.Pod) bool {
		return !slices.ContainsFunc(pods, func(pod *corev1.Pod) bool { return pod.UID == current.UID })
	}), nil
}

// listPods lists this node's pods and retries until it succeeds or ctx ends.
func (n *Node) listPods(ctx context.Context) ([]*corev1.Pod, error) {
	return kube.Fetch(ctx, n.Conn, n.Log, "listing the pods of this node",
		func() ([]*corev1.Pod, error) { return n.pods(ctx) })
}

func qualifiedPodNames(pods []*corev1.Pod) []string {
	return lists.Map(pods, func(pod *corev1.Pod) string { return pod.Namespace + "/" + pod.Name })
}
