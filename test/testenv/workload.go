// SPDX-License-Identifier: Apache-2.0

package testenv

import (
	"context"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/hcp-node-agent/hcp-node-agent/test/waittest"
)

// Workload is the name of the Deployment that CreateWorkload creates, of its container, and the label app of its pods.
const Workload = "workload"

// CreateWorkload creates a Deployment, whose pods a drain evicts.
func (s *Environment) CreateWorkload(ctx context.Context, replicas int32) error {
	labels, grace := map[string]string{"app": Workload}, int64(1)
	_, err := s.Client.AppsV1().Deployments(metav1.NamespaceDefault).Create(ctx, &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: Workload},
		Spec: appsv1.DeploymentSpec{
			Replicas: &replicas,
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec: corev1.PodSpec{
					TerminationGracePeriodSeconds: &grace,
					Containers:                    []corev1.Container{{Name: Workload, Image: s.ControlPlane.WorkloadImage}},
				},
			},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("creating a Deployment: %w", err)
	}
	return nil
}

// AwaitWorkload waits until all pods of the Deployment are available.
func (s *Environment) AwaitWorkload(ctx context.Context) error {
	err := wait.PollUntilContextTimeout(ctx, 500*time.Millisecond, waittest.Timeout, true,
		func(ctx context.Context) (bool, error) {
			deployment, err := s.Client.AppsV1().Deployments(metav1.NamespaceDefault).Get(ctx, Workload, metav1.GetOptions{})
			return err == nil && deployment.Status.AvailableReplicas == *deployment.Spec.Replicas, nil
		})
	if err != nil {
		return fmt.Errorf("waiting for the pods of the Deployment: %w", err)
	}
	return nil
}
