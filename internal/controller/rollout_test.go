// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hcp-node-agent/hcp-node-agent/internal/api/v1alpha1"
)

// A limit that the API server cannot check stops the rollout.
func TestPoolOfUnusableRollout(t *testing.T) {
	secret := &metav1.PartialObjectMetadata{}
	now := time.Now()
	secret.Annotations = map[string]string{v1alpha1.AnnotationPoolConfig: "new"}
	for want, spec := range map[string]v1alpha1.NodeRolloutSpec{
		"schedule of the window": {Window: &v1alpha1.MaintenanceWindow{
			Schedule: "never", Duration: metav1.Duration{Duration: time.Hour},
		}},
		"canary: ": {Canary: &metav1.LabelSelector{
			MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "a", Operator: "Near"}},
		}},
	} {
		pool := poolOf(&v1alpha1.NodeRollout{Spec: spec}, secret, now)
		if !strings.HasPrefix(pool.Blocked, want) {
			t.Errorf("blocked by %q, want %q", pool.Blocked, want)
		}
	}
	secret.Annotations[v1alpha1.AnnotationPoolPaused] = "until 2027"
	if pool := poolOf(&v1alpha1.NodeRollout{}, secret, now); pool.Blocked != "the NodePool is paused: until 2027" {
		t.Errorf("blocked by %q", pool.Blocked)
	}
	delete(secret.Annotations, v1alpha1.AnnotationPoolPaused)
	secret.Annotations[v1alpha1.AnnotationPoolExpires] = now.Add(-time.Second).Format(time.RFC3339)
	pool := poolOf(&v1alpha1.NodeRollout{}, secret, now)
	if !strings.HasPrefix(pool.Blocked, "the published user data has expired") {
		t.Errorf("blocked by %q", pool.Blocked)
	}
}
