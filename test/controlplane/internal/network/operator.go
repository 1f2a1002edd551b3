// SPDX-License-Identifier: Apache-2.0

// Package network stands in for a hosted cluster's network operator: a real DaemonSet that writes
// the CNI configuration on every node. A node without it is not Ready, with the same reason as on
// a real cluster.
package network

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

const (
	namespace = "openshift-ovn-kubernetes"
	name      = "ovnkube-node"
	confDir   = "/etc/kubernetes/cni/net.d"
)

// Operator deploys the DaemonSet.
type Operator struct {
	Client kubernetes.Interface
	Image  string // of images/network, by digest
}

// Prepare creates the namespace.
func (o Operator) Prepare(ctx context.Context) error {
	space := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}
	if _, err := o.Client.CoreV1().Namespaces().Create(ctx, space, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("creating namespace %s: %w", namespace, err)
	}
	return nil
}

// Deployed reports whether the DaemonSet exists.
func (o Operator) Deployed(ctx context.Context) (bool, error) {
	_, err := o.Client.AppsV1().DaemonSets(namespace).Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("reading DaemonSet %s: %w", name, err)
	}
	return true, nil
}

// Deploy creates the DaemonSet. An existing DaemonSet remains unchanged.
func (o Operator) Deploy(ctx context.Context) error {
	_, err := o.Client.AppsV1().DaemonSets(namespace).Create(ctx, o.daemonSet(), metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("creating DaemonSet %s: %w", name, err)
	}
	return nil
}

// Remove deletes the DaemonSet. Its pods remove the CNI configuration when they end; Remove does
// not wait for that.
func (o Operator) Remove(ctx context.Context) error {
	background := metav1.DeletePropagationBackground
	err := o.Client.AppsV1().DaemonSets(namespace).Delete(ctx, name, metav1.DeleteOptions{PropagationPolicy: &background})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("deleting DaemonSet %s: %w", name, err)
	}
	return nil
}

// daemonSet returns a DaemonSet that, like the real one, can run on a node without a network:
// with the host network, every toleration and the highest priority.
func (o Operator) daemonSet() *appsv1.DaemonSet {
	labels := map[string]string{"app": name}
	privileged, noToken, grace := true, false, int64(5)
	directory := corev1.HostPathDirectoryOrCreate
	return &appsv1.DaemonSet{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace, Labels: labels},
		Spec: appsv1.DaemonSetSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec: corev1.PodSpec{
					HostNetwork:                   true,
					PriorityClassName:             "system-node-critical",
					Tolerations:                   []corev1.Toleration{{Operator: corev1.TolerationOpExists}},
					AutomountServiceAccountToken:  &noToken,
					TerminationGracePeriodSeconds: &grace,
					Containers: []corev1.Container{{
						Name:            "cni-config",
						Image:           o.Image,
						ImagePullPolicy: corev1.PullIfNotPresent,
						Args:            []string{"/host" + confDir},
						SecurityContext: &corev1.SecurityContext{Privileged: &privileged},
						VolumeMounts:    []corev1.VolumeMount{{Name: "cni", MountPath: "/host" + confDir}},
					}},
					Volumes: []corev1.Volume{{Name: "cni", VolumeSource: corev1.VolumeSource{
						HostPath: &corev1.HostPathVolumeSource{Path: confDir, Type: &directory},
					}}},
				},
			},
		},
	}
}
