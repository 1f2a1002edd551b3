// SPDX-License-Identifier: Apache-2.0

//go:build faults

package controller

import (
	"maps"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/hcp-node-agent/hcp-node-agent/internal/api/v1alpha1"
	"github.com/hcp-node-agent/hcp-node-agent/internal/kube"
	"github.com/hcp-node-agent/hcp-node-agent/internal/service"
)

// retry permits a node whose upgrade failed to be upgraded again.
func (s *simulation) retry(name string) {
	s.Helper()
	object := s.rollout()
	at := slices.IndexFunc(object.Status.Failures, func(one v1alpha1.UpgradeFailure) bool { return one.Node == name })
	if at < 0 {
		return
	}
	retried := v1alpha1.UpgradeRetry{Node: name, FailedAt: object.Status.Failures[at].At}
	if slices.Contains(object.Spec.Retries, retried) {
		return
	}
	object.Spec.Retries = append(slices.DeleteFunc(object.Spec.Retries, func(one v1alpha1.UpgradeRetry) bool {
		return one.Node == name
	}), retried)
	s.agents[name].allowed++
	s.must(s.api.Update(s.Context(), object))
}

// runAgent lets the agent of a node that is reachable read its Node, begin, or end.
func (s *simulation) runAgent(name string) {
	s.Helper()
	agent, node := s.agents[name], s.node(name)
	switch {
	case !kube.IsReady(node):
		agent.seen = nil
	case node.Annotations[v1alpha1.AnnotationState] == string(v1alpha1.AgentUpgrading):
		node.Annotations[v1alpha1.AnnotationState] = string(v1alpha1.AgentHealthy)
		if s.random.IntN(5) == 0 {
			node.Annotations[v1alpha1.AnnotationFailedSlot] = agent.attempt
		} else {
			node.Annotations[v1alpha1.AnnotationCurrentConfig] = "new"
		}
		s.must(s.api.Update(s.Context(), node))
	case node.Annotations[v1alpha1.AnnotationCurrentConfig] == "new" &&
		node.Annotations[v1alpha1.AnnotationSlot] == "" && s.random.IntN(10) == 0:
		node.Annotations[v1alpha1.AnnotationCurrentConfig] = "old" // rolled back by hand
		s.must(s.api.Update(s.Context(), node))
	case agent.seen == nil:
		agent.seen = node
	default:
		permission := service.PermissionIn(agent.seen.Annotations)
		slot, current := permission.Slot, agent.seen.Annotations[v1alpha1.AnnotationCurrentConfig]
		if permission.Config != "" && permission.Config != current && slot != agent.attempt {
			agent.seen.Annotations[v1alpha1.AnnotationState] = string(v1alpha1.AgentUpgrading)
			switch err := s.api.Update(s.Context(), agent.seen); {
			case err == nil:
				agent.attempt = slot
				agent.begun++
			case !apierrors.IsConflict(err):
				s.must(err)
			}
		}
		agent.seen = nil
	}
}

// check checks the rules, and returns the slots and the nodes without the new configuration.
func (s *simulation) check() (slots map[string]string, remaining []string) {
	s.Helper()
	object := s.rollout()
	slots = map[string]string{}
	for _, slot := range object.Status.Slots {
		slots[slot.Node] = slotID(slot)
	}
	var failed, busy []string
	for _, failure := range object.Status.Failures {
		failed = append(failed, failure.Node)
	}
	for name, agent := range s.agents {
		if agent.begun > 1+agent.allowed {
			s.Fatalf("seed %d: %s was upgraded %d times, and permitted again %d times", s.seed, name, agent.begun,
				agent.allowed)
		}
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
// unavailable, and none that was upgraded or has failed again, unless an administrator permits it: a node that is
// rolled back by hand counts as failed. When all is well again, the rollout ends.
func TestRolloutOfTwoReplicas(t *testing.T) {
	for seed := range histories(t) {
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
					replica.cache[name], replica.records[name] = s.node(name), s.record(name)
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
