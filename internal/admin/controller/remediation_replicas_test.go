// SPDX-License-Identifier: Apache-2.0

//go:build faults

package controller

import (
	"fmt"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hcp-node-agent/hcp-node-agent/internal/kube"
)

// pass lets time pass. Then kubelets and kube-controller-manager write the state of the hosts.
func (s *hostSimulation) pass(duration time.Duration) {
	s.now = s.now.Add(duration)
	for i := range len(s.hosts) {
		name := fmt.Sprintf("worker-%d", i)
		host, node := s.hosts[name], s.findNode(name)
		isReporting := !host.isOff && !host.isCut
		switch {
		case node == nil && isReporting:
			host.isDeleted = false
			s.must(s.api.Create(s.Context(), s.newNode(name)))
		case node != nil && isReporting != kube.IsReady(node):
			ready := &node.Status.Conditions[0]
			ready.Status, ready.Reason = corev1.ConditionTrue, ""
			if !isReporting {
				ready.Status, ready.Reason = corev1.ConditionUnknown, reasonUnresponsive
			}
			ready.LastTransitionTime = metav1.NewTime(s.now)
			s.must(s.api.Status().Update(s.Context(), node))
		}
	}
}

func (s *hostSimulation) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatalf("seed %d: %v", s.seed, err)
	}
}

// cut cuts all hosts off, or ends the outage.
func (s *hostSimulation) cut(isCut bool) {
	s.isOutage = false
	for _, host := range s.hosts {
		if host.isCut && !isCut {
			host.wasCutUntil = s.now
		}
		host.isCut = isCut
	}
	s.pass(time.Second)
	s.settle(s.replicas[s.random.IntN(2)]) // the cache of the other one has the Nodes before the outage
	s.isOutage = isCut
}

// step does one thing of all that can happen.
func (s *hostSimulation) step() {
	replica, name := s.replicas[s.random.IntN(2)], fmt.Sprintf("worker-%d", s.random.IntN(6))
	host := s.hosts[name]
	switch action := s.random.IntN(100); {
	case action < 35:
		for range 1 + s.random.IntN(6) {
			s.advance(replica, nil)
			s.check()
		}
	case action < 36: // restart
		for replica.isRunning {
			s.advance(replica, errKilled)
		}
		s.replicas[slices.Index(s.replicas, replica)] = s.newReplica()
	case action < 45:
		s.refresh(replica)
	case action < 50:
		s.refreshObject(replica)
	case action < 78:
		s.pass(time.Duration(s.random.IntN(300)) * time.Second)
	case action < 81:
		host.isOff = true
		s.pass(time.Second)
	case action < 89:
		host.isOff = false
		s.pass(time.Second)
	case action < 91:
		s.cut(!host.isCut && s.random.IntN(3) == 0)
	case action < 96:
		host.isTerminating = host.isOff && !host.isTerminating
	default: // an administrator
		if node := s.findNode(name); node != nil {
			isAdmins := func(taint corev1.Taint) bool { return taint.TimeAdded == nil }
			hasTaint := slices.ContainsFunc(node.Spec.Taints, func(taint corev1.Taint) bool { return !isAdmins(taint) })
			if node.Spec.Taints = slices.DeleteFunc(node.Spec.Taints, isAdmins); !hasTaint && s.random.IntN(2) == 0 {
				node.Spec.Taints = append(node.Spec.Taints, corev1.Taint{
					Key: corev1.TaintNodeOutOfService, Value: outOfServiceValue, Effect: corev1.TaintEffectNoExecute,
				})
			}
			s.must(s.api.Update(s.Context(), node))
		}
	}
}

// check checks that no more nodes are remediated than allowed, and that each of them has a record. It returns their
// number.
func (s *hostSimulation) check() int {
	s.Helper()
	object := s.replicas[0].object.DeepCopy()
	s.must(s.api.Get(s.Context(), client.ObjectKeyFromObject(object), object))
	var remediated []string
	for name, host := range s.hosts {
		node := s.findNode(name)
		hasTaint := node != nil && slices.ContainsFunc(node.Spec.Taints, func(taint corev1.Taint) bool {
			return taint.TimeAdded != nil
		})
		if !hasTaint && !host.isDeleted {
			continue
		}
		remediated = append(remediated, name)
		if !slices.Contains(recordedNodes(object), name) {
			s.Fatalf("seed %d: %s is remediated, the records are %+v", s.seed, name, object.Status.Remediated)
		}
	}
	if len(remediated) > remediatedLimit || len(object.Status.Remediated) > remediatedLimit {
		s.Fatalf("seed %d: at most %d may be remediated: %v, with the records %+v", s.seed, remediatedLimit, remediated,
			object.Status.Remediated)
	}
	return len(object.Status.Remediated)
}

// Two replicas at work, with watches that are late and restarts, never remediate more nodes than allowed, no node in an
// outage or shortly after it, and none whose host runs. No taint of an administrator is removed. When all hosts run
// again, each node loses its taint.
func TestRemediationOfTwoReplicas(t *testing.T) {
	acted, restored, count := 0, 0, 0
	for seed := range histories(t) {
		s := newHostSimulation(t, seed)
		for range 400 {
			s.step()
			s.check()
		}
		s.cut(false)
		for _, host := range s.hosts {
			host.isOff, host.isTerminating = false, false
		}
		for round := 0; ; round++ {
			s.pass(time.Minute)
			s.settle(s.replicas...)
			if s.check() == 0 {
				break
			} else if round == 20 {
				t.Fatalf("seed %d: the records are %+v", seed, s.replicas[0].object.Status.Remediated)
			}
		}
		acted, restored, count = acted+s.acted, restored+s.restored, count+1
	}
	t.Logf("%d nodes were remediated, %d taints removed", acted, restored)
	if count >= 20 && (acted < count || restored < count/2) {
		t.Errorf("the histories test too little: %d nodes were remediated, %d taints removed", acted, restored)
	}
}
