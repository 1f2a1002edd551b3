// SPDX-License-Identifier: Apache-2.0

package install

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hcp-node-agent/hcp-node-agent/internal/admin/cluster"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/wait"
)

// pollInterval is the time between two reads of an object that is awaited.
const pollInterval = 500 * time.Millisecond

// await repeats read until it returns "", and logs what it returns otherwise: what is awaited. It fails with remedy
// after the timeout.
func (i *Installer) await(
	ctx context.Context, in *cluster.Cluster, remedy report.Remedy, read func(context.Context) (string, error),
) error {
	limited, cancel := context.WithTimeout(ctx, i.Timeout)
	defer cancel()
	last := fmt.Sprintf("the API server of the %s cluster responds", in.Place)
	for {
		awaited, err := read(limited)
		switch {
		case err == nil && awaited == "":
			return nil
		case err == nil:
			last = awaited
			i.Log.Wait("waiting until "+awaited, "")
		case limited.Err() == nil:
			return err
		}
		if wait.Sleep(limited, pollInterval) == nil {
			continue
		}
		if errors.Is(ctx.Err(), context.Canceled) {
			return report.Fail(report.Interrupted, "# run the same command again to resume", "interrupted while waiting "+
				"until %s", last)
		}
		return report.Fail(report.Failed, remedy, "timed out after %s waiting until %s", i.Timeout, last)
	}
}

// awaitEstablished waits until the hosted cluster serves the kind of a CustomResourceDefinition.
func (i *Installer) awaitEstablished(ctx context.Context, name string) error {
	definition := newObject("apiextensions.k8s.io/v1", "CustomResourceDefinition", "", name)
	remedy := report.Remedyf("oc --kubeconfig hosted.kubeconfig get crd %s -o yaml # the conditions name the cause", name)
	return i.await(ctx, i.Hosted, remedy, func(ctx context.Context) (string, error) {
		if err := i.Hosted.Get(ctx, client.ObjectKeyFromObject(definition), definition); err != nil {
			return "", err
		}
		conditions, _, _ := unstructured.NestedSlice(definition.Object, "status", "conditions") // has always this type
		for _, condition := range conditions {
			fields, _ := condition.(map[string]any)
			if fields["type"] == "Established" && fields["status"] == "True" {
				return "", nil
			}
		}
		return "the hosted cluster serves CustomResourceDefinition " + name, nil
	})
}

// awaitAvailable waits until all replicas of the Deployment are available in their current configuration.
func (i *Installer) awaitAvailable(ctx context.Context, in *cluster.Cluster) error {
	key := client.ObjectKey{Namespace: i.managementNamespace(), Name: controllerName}
	kubeconfig := "management.kubeconfig"
	if in == i.Hosted {
		kubeconfig = "hosted.kubeconfig"
	}
	remedy := report.Remedyf("oc --kubeconfig %s -n %s describe pods -l app.kubernetes.io/component=controller",
		kubeconfig, key.Namespace)
	return i.await(ctx, in, remedy, func(ctx context.Context) (string, error) {
		var deployment appsv1.Deployment
		if err := in.Get(ctx, key, &deployment); err != nil {
			return "", err
		}
		wanted, status := *deployment.Spec.Replicas, deployment.Status
		if status.ObservedGeneration >= deployment.Generation && status.UpdatedReplicas == wanted &&
			status.AvailableReplicas == wanted && status.Replicas == wanted {
			return "", nil
		}
		awaited := fmt.Sprintf("Deployment %s is available on the %s cluster: %d of %d replicas", key, in.Place,
			min(status.AvailableReplicas, status.UpdatedReplicas), wanted)
		if cause := podProblem(ctx, in, &deployment); cause != "" {
			awaited += "; " + cause
		}
		return awaited, nil
	})
}

// podProblem returns why a pod of a Deployment does not run, or "" if no cause is known.
func podProblem(ctx context.Context, in client.Reader, deployment *appsv1.Deployment) string {
	var pods corev1.PodList
	err := in.List(ctx, &pods, client.InNamespace(deployment.Namespace),
		client.MatchingLabels(deployment.Spec.Selector.MatchLabels))
	if err != nil {
		return "" // the pods only explain the wait
	}
	for _, pod := range pods.Items {
		for _, condition := range pod.Status.Conditions {
			if condition.Type == corev1.PodScheduled && condition.Status == corev1.ConditionFalse {
				return "pod " + pod.Name + ": " + condition.Message
			}
		}
		for _, container := range pod.Status.ContainerStatuses {
			if waiting := container.State.Waiting; waiting != nil && waiting.Reason != "ContainerCreating" {
				return strings.TrimSuffix("pod "+pod.Name+": "+waiting.Reason+": "+waiting.Message, ": ")
			}
		}
	}
	return ""
}
