// SPDX-License-Identifier: Apache-2.0

package node

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// A drain that an interruption of the agent has divided takes no longer than its timeout.
func TestDrainTimeLeft(t *testing.T) {
	now := time.Unix(1_000_000, 0)
	for name, test := range map[string]struct {
		timeout, ago, want time.Duration
	}{
		"new":                         {timeout: time.Hour, want: time.Hour},
		"default":                     {want: DefaultDrainTimeout},
		"resumed":                     {timeout: time.Hour, ago: 40 * time.Minute, want: 20 * time.Minute},
		"resumed with the default":    {ago: 10 * time.Minute, want: 5 * time.Minute},
		"nearly over":                 {timeout: time.Hour, ago: 59 * time.Minute, want: minResumedDrain},
		"over, the host was off":      {ago: 8 * time.Hour, want: minResumedDrain},
		"short timeout":               {timeout: 10 * time.Second, ago: time.Minute, want: 10 * time.Second},
		"the clock was in the future": {timeout: time.Hour, ago: -24 * time.Hour, want: time.Hour},
	} {
		if got := drainTimeLeft(test.timeout, now.Add(-test.ago), now); got != test.want {
			t.Errorf("%s: %s, want %s", name, got, test.want)
		}
	}
}

func TestEvictionPause(t *testing.T) {
	for since, want := range map[time.Duration]time.Duration{
		0: 250 * time.Millisecond, 4 * time.Second: time.Second, time.Minute: 2 * time.Second,
	} {
		if got := evictionPause(since); got != want {
			t.Errorf("after %s: %s, want %s", since, got, want)
		}
	}
}

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
