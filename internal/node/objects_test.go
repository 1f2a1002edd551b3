// SPDX-License-Identifier: Apache-2.0

package node

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// cniMessage is the message of a Node without network plugin.
const cniMessage = "container runtime network not ready: NetworkReady=false reason:NetworkPluginNotReady " +
	"message:Network plugin returns error: no CNI configuration file in /etc/kubernetes/cni/net.d/. Has your network " +
	"provider started?"

func nodeWith(status corev1.ConditionStatus, reason, message string, more ...corev1.NodeCondition) *corev1.Node {
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: "worker-1"},
		Status: corev1.NodeStatus{
			NodeInfo: corev1.NodeSystemInfo{BootID: "this"},
			Conditions: append([]corev1.NodeCondition{{
				Type:    corev1.NodeReady,
				Status:  status,
				Reason:  reason,
				Message: message,
			}}, more...),
		},
	}
}

func notReady(message string) *corev1.Node { return nodeWith("False", "KubeletNotReady", message) }

func podOf(namespace, name string, hostNetwork bool, state corev1.ContainerState) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec: corev1.PodSpec{
			NodeName: "worker-1", HostNetwork: hostNetwork,
			Containers: []corev1.Container{{Name: "main", Image: "quay.io/a/b:1"}},
		},
		Status: corev1.PodStatus{
			Phase:             corev1.PodPending,
			ContainerStatuses: []corev1.ContainerStatus{{Name: "main", State: state}},
		},
	}
}
