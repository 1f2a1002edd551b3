// SPDX-License-Identifier: Apache-2.0

package testenv

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/hcp-node-agent/hcp-node-agent/test/waittest"
)

// Reset restores the initial state of the cluster: no Node, no CSR, no pod of the tests, and an
// Ignition server without faults.
func (s *Environment) Reset(ctx context.Context) error {
	if err := s.ControlPlane.Reset(ctx); err != nil {
		return fmt.Errorf("resetting the ignition server: %w", err)
	}
	now := int64(0)
	delete := metav1.DeleteOptions{GracePeriodSeconds: &now}
	if err := s.Client.CoreV1().Pods("default").DeleteCollection(ctx, delete, metav1.ListOptions{}); err != nil {
		return fmt.Errorf("deleting pods: %w", err)
	}
	if err := s.Client.CoreV1().Nodes().DeleteCollection(ctx, delete, metav1.ListOptions{}); err != nil {
		return fmt.Errorf("deleting nodes: %w", err)
	}
	if err := s.Client.CertificatesV1().CertificateSigningRequests().DeleteCollection(ctx, delete,
		metav1.ListOptions{}); err != nil {
		return fmt.Errorf("deleting certificate requests: %w", err)
	}
	return nil
}

// RunPod runs the workload image and waits until the pod is Running, which proves that the node
// works.
func (s *Environment) RunPod(ctx context.Context, name string) (*corev1.Pod, error) {
	pods := s.Client.CoreV1().Pods("default")
	grace := int64(1)
	_, err := pods.Create(ctx, &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1.PodSpec{
			TerminationGracePeriodSeconds: &grace,
			Containers:                    []corev1.Container{{Name: "workload", Image: s.ControlPlane.WorkloadImage}},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		return nil, fmt.Errorf("creating pod %s: %w", name, err)
	}
	var pod *corev1.Pod
	err = wait.PollUntilContextTimeout(ctx, 500*time.Millisecond, waittest.Timeout, true,
		func(ctx context.Context) (bool, error) {
			pod, err = pods.Get(ctx, name, metav1.GetOptions{})
			return err == nil && pod.Status.Phase == corev1.PodRunning, err
		})
	if err != nil {
		return pod, fmt.Errorf("waiting for pod %s to run: %w; it is on node %q: %s", name, err, pod.Spec.NodeName,
			pod.Status.String())
	}
	return pod, nil
}

// DeletePods deletes the pods of the tests and waits until they no longer exist.
func (s *Environment) DeletePods(ctx context.Context) error {
	pods := s.Client.CoreV1().Pods("default")
	if err := pods.DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{}); err != nil {
		return fmt.Errorf("deleting pods: %w", err)
	}
	err := wait.PollUntilContextTimeout(ctx, 500*time.Millisecond, waittest.Timeout, true,
		func(ctx context.Context) (bool, error) {
			list, err := pods.List(ctx, metav1.ListOptions{})
			return err == nil && len(list.Items) == 0, err
		})
	if err != nil {
		return fmt.Errorf("waiting for the pods to be gone: %w", err)
	}
	return nil
}
