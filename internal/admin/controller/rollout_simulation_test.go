// SPDX-License-Identifier: Apache-2.0

//go:build faults

package controller

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/hcp-node-agent/hcp-node-agent/internal/api/v1alpha1"
)

const (
	simulatedNodes = 6
	simulatedLimit = 2
)

// simulation runs two replicas of the controller and the agents of some nodes against one API server: one request at a
// time, in random order.
type simulation struct {
	*testing.T
	seed     uint64
	random   *rand.Rand
	api      client.WithWatch
	replicas []*simulatedReplica
	agents   map[string]*simulatedAgent
}

// simulatedReplica is a replica whose cache has an old version of any Node and NodeEnrollment. It waits before each
// request.
type simulatedReplica struct {
	*gate
	reconciler *rolloutReconciler
	cache      map[string]*corev1.Node
	records    map[string]*v1alpha1.NodeEnrollment
}

// simulatedAgent is the agent of a node.
type simulatedAgent struct {
	seen    *corev1.Node // what it has read, nil for nothing
	attempt string       // slot that it has used
	begun   int          // upgrades
	allowed int          // upgrades without the first
}

func newSimulation(t *testing.T, seed uint64) *simulation {
	t.Helper()
	s := &simulation{
		T: t, seed: seed, random: rand.New(rand.NewPCG(seed, 0)), //nolint:gosec // no secret
		agents: map[string]*simulatedAgent{},
	}
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{
		Namespace: v1alpha1.Namespace, Name: v1alpha1.UserDataSecret("pool"),
		Annotations: map[string]string{v1alpha1.AnnotationPoolConfig: "new"},
	}}
	objects := []client.Object{secret, &v1alpha1.NodeRollout{
		ObjectMeta: metav1.ObjectMeta{Name: "pool"},
		Spec: v1alpha1.NodeRolloutSpec{
			MaxUnavailable: ptr.To(intstr.FromInt32(simulatedLimit)), MaxFailures: math.MaxInt32,
		},
	}}
	for i := range simulatedNodes {
		name := fmt.Sprintf("worker-%d", i)
		record := &v1alpha1.NodeEnrollment{ObjectMeta: metav1.ObjectMeta{Name: name}}
		record.Spec.NodePool, record.Spec.UsedBy = "pool", usedBy("SHA256:00")
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{
			Name: name, Annotations: map[string]string{v1alpha1.AnnotationCurrentConfig: "old"},
		}}
		node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
		objects = append(objects, record, node)
		s.agents[name] = &simulatedAgent{}
	}
	s.api = fake.NewClientBuilder().WithScheme(newScheme()).WithObjects(objects...).
		WithStatusSubresource(&v1alpha1.NodeRollout{}, &v1alpha1.NodeEnrollment{}).
		WithIndex(&v1alpha1.NodeEnrollment{}, nodePoolIndex, enrolledNodePool).Build()
	s.replicas = []*simulatedReplica{s.newReplica(), s.newReplica()}
	return s
}

func (s *simulation) newReplica() *simulatedReplica {
	r := &simulatedReplica{
		gate: newGate(), cache: map[string]*corev1.Node{}, records: map[string]*v1alpha1.NodeEnrollment{},
	}
	cached := interceptor.NewClient(s.api, interceptor.Funcs{
		Get: func(ctx context.Context, api client.WithWatch, key client.ObjectKey, into client.Object,
			options ...client.GetOption,
		) error {
			switch object := into.(type) {
			case *corev1.Node:
				r.cache[key.Name].DeepCopyInto(object)
				return nil
			case *v1alpha1.NodeRollout:
				return errors.New("slots must be read from the API server")
			}
			return api.Get(ctx, key, into, options...)
		},
		List: func(
			_ context.Context, _ client.WithWatch, into client.ObjectList, _ ...client.ListOption,
		) error {
			for _, name := range slices.Sorted(maps.Keys(r.records)) {
				list := into.(*v1alpha1.NodeEnrollmentList)
				list.Items = append(list.Items, *r.records[name].DeepCopy())
			}
			return nil
		},
		Patch:            r.patch,
		SubResourcePatch: r.patchStatus,
	})
	live := interceptor.NewClient(s.api, interceptor.Funcs{Get: r.get})
	r.reconciler = &rolloutReconciler{client: cached, live: live, events: &events.FakeRecorder{}}
	for name := range s.agents {
		r.cache[name], r.records[name] = s.node(name), s.record(name)
	}
	return r
}

func (s *simulation) advance(r *simulatedReplica, failure error) {
	s.Helper()
	r.advance(s.T, s.seed, r.reconciler, failure)
}

func (s *simulation) node(name string) *corev1.Node {
	s.Helper()
	node := &corev1.Node{}
	s.must(s.api.Get(s.Context(), client.ObjectKey{Name: name}, node))
	return node
}

func (s *simulation) record(name string) *v1alpha1.NodeEnrollment {
	s.Helper()
	record := &v1alpha1.NodeEnrollment{}
	s.must(s.api.Get(s.Context(), client.ObjectKey{Name: name}, record))
	return record
}

func (s *simulation) rollout() *v1alpha1.NodeRollout {
	s.Helper()
	object := &v1alpha1.NodeRollout{}
	s.must(s.api.Get(s.Context(), client.ObjectKey{Name: "pool"}, object))
	return object
}

func (s *simulation) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatalf("seed %d: %v", s.seed, err)
	}
}

// step does one thing of all that can happen.
func (s *simulation) step() {
	replica, name := s.replicas[s.random.IntN(2)], fmt.Sprintf("worker-%d", s.random.IntN(simulatedNodes))
	switch action := s.random.IntN(100); {
	case action < 30:
		for range 1 + s.random.IntN(4) {
			s.advance(replica, nil)
			s.check()
		}
	case action < 32: // restart
		for replica.isRunning {
			s.advance(replica, errKilled)
		}
		s.replicas[slices.Index(s.replicas, replica)] = s.newReplica()
	case action < 40:
		for name := range s.agents {
			replica.cache[name] = s.node(name)
		}
	case action < 43:
		for name := range s.agents {
			replica.records[name] = s.record(name)
		}
	case action < 60:
		replica.cache[name] = s.node(name)
	case action < 62: // an outage of some nodes
		for i := range s.random.IntN(simulatedNodes + 1) {
			s.setReady(fmt.Sprintf("worker-%d", i), corev1.ConditionUnknown)
		}
	case action < 68:
		s.setReady(name, corev1.ConditionTrue)
	case action < 74:
		s.setPaused(s.random.IntN(2) == 0)
	case action < 76:
		s.retry(name)
	default:
		s.runAgent(name)
	}
}

func (s *simulation) setReady(name string, ready corev1.ConditionStatus) {
	s.Helper()
	if node := s.node(name); node.Status.Conditions[0].Status != ready {
		node.Status.Conditions[0].Status = ready
		s.must(s.api.Status().Update(s.Context(), node))
	}
}

func (s *simulation) setPaused(isPaused bool) {
	s.Helper()
	object := s.rollout()
	object.Spec.Paused = isPaused
	s.must(s.api.Update(s.Context(), object))
}
