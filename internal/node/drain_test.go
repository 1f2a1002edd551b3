// SPDX-License-Identifier: Apache-2.0

package node

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestPodsToEvict(t *testing.T) {
	yes := true
	pod := func(name, owner string, change func(*corev1.Pod)) *corev1.Pod {
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name}}
		if owner != "" {
			p.OwnerReferences = []metav1.OwnerReference{{Kind: owner, Name: "o", Controller: &yes}}
		}
		if change != nil {
			change(p)
		}
		return p
	}
	leaving, lost := podsToEvict([]*corev1.Pod{
		pod("daemon", "DaemonSet", nil),
		pod("replica", "ReplicaSet", nil),
		pod("static", "Node",
			func(p *corev1.Pod) { p.Annotations = map[string]string{corev1.MirrorPodAnnotationKey: "x"} }),
		pod("done", "Job", func(p *corev1.Pod) { p.Status.Phase = corev1.PodSucceeded }),
		pod("bare", "", nil),
	})
	if diff := cmp.Diff([]string{"ns/replica", "ns/bare"}, qualifiedPodNames(leaving)); diff != "" {
		t.Errorf("leaving (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"ns/bare"}, lost); diff != "" {
		t.Errorf("lost (-want +got):\n%s", diff)
	}
}
