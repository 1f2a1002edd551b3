// SPDX-License-Identifier: Apache-2.0

package service

import (
	"context"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/hcp-node-agent/hcp-node-agent/internal/api/v1alpha1"
	"github.com/hcp-node-agent/hcp-node-agent/internal/upgrade"
)

// A node whose permission is withdrawn while it begins does not upgrade, and does not use its slot.
func TestWithdrawnPermission(t *testing.T) {
	m, c := newRollout(t, "7", "22")
	m.rollout.upgrade = func(context.Context, []byte, upgrade.Options) error {
		t.Error("the node is upgraded")
		return nil
	}
	c.change = func() {
		c.node.ResourceVersion = "2"
		delete(c.node.Annotations, v1alpha1.AnnotationDesiredConfig)
	}
	if _, err := m.checkRollout(t.Context()); !apierrors.IsConflict(err) {
		t.Errorf("checkRollout() = %v", err)
	}
	m.rollout.wait()
	if last := lastAttempt(t, m); last.Slot != "" {
		t.Errorf("the attempt is %+v", last)
	}
	m, c = newRollout(t, "8", "22")
	upgraded := false
	m.rollout.upgrade = func(_ context.Context, _ []byte, o upgrade.Options) error {
		upgraded = !o.Stage && c.node.Annotations[v1alpha1.AnnotationState] == string(v1alpha1.AgentUpgrading)
		return nil
	}
	m.check(t)
	if !upgraded {
		t.Error("the node is not upgraded, or has not reported it before")
	}
}
