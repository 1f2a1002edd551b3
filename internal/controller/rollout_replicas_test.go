// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"maps"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hcp-node-agent/hcp-node-agent/internal/api/v1alpha1"
)

// check checks the rules, and returns the slots and the nodes without the new configuration.
func (s *simulation) check() (slots map[string]string, remaining []string) {
	s.Helper()
	object := &v1alpha1.NodeRollout{}
	s.must(s.api.Get(s.Context(), client.ObjectKey{Name: "pool"}, object))
	slots = map[string]string{}
	for _, slot := range object.Status.Slots {
		slots[slot.Node] = slotID(slot)
	}
	var failed, busy []string
	for _, failure := range object.Status.Failures {
		failed = append(failed, failure.Node)
	}
	for name := range s.agents {
		annotations := s.node(name).Annotations
		hasPermission := annotations[v1alpha1.AnnotationDesiredConfig] != ""
		if hasPermission && annotations[v1alpha1.AnnotationSlot] != slots[name] {
			s.Fatalf("seed %d: %s has the permission %s, the slots are %v", s.seed, name,
				annotations[v1alpha1.AnnotationSlot], slots)
		}
		isUpgrading := annotations[v1alpha1.AnnotationState] == string(v1alpha1.AgentUpgrading)
		if isUpgrading && slots[name] == "" {
			s.Fatalf("seed %d: %s upgrades, the slots are %v", s.seed, name, slots)
		}
		if hasPermission || isUpgrading {
			busy = append(busy, name)
		}
		if annotations[v1alpha1.AnnotationCurrentConfig] != "new" && !slices.Contains(failed, name) {
			remaining = append(remaining, name)
		}
	}
	if len(slots) > simulatedLimit || len(busy) > simulatedLimit {
		s.Fatalf("seed %d: %d may be unavailable: the slots are %v; %s may upgrade or do", s.seed, simulatedLimit, slots,
			strings.Join(busy, " and "))
	}
	return slots, remaining
}

// Two replicas at work, with watches that are late, restarts and outages, never let more nodes upgrade than may be
// unavailable. When all is well again, the rollout ends.
func TestRolloutOfTwoReplicas(t *testing.T) {
	for seed := range uint64(20) {
		s := newSimulation(t, seed)
		for range 400 {
			s.step()
			s.check()
		}
		s.setPaused(false)
		for round := 0; ; round++ {
			if slots, remaining := s.check(); len(slots)+len(remaining) == 0 {
				break
			} else if round == 200 {
				t.Fatalf("seed %d: the rollout does not end: slots %v, remaining %v", seed, slots, remaining)
			}
			for _, name := range slices.Sorted(maps.Keys(s.agents)) {
				s.setReady(name, corev1.ConditionTrue)
				s.runAgent(name)
				for _, replica := range s.replicas {
					replica.cache[name] = s.node(name)
				}
			}
			for range 50 {
				s.advance(s.replicas[round%2], nil)
				s.check()
			}
		}
		for _, replica := range s.replicas {
			for replica.isRunning {
				s.advance(replica, errKilled)
			}
		}
	}
}
