// SPDX-License-Identifier: Apache-2.0

//go:build faults

package controller

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/hcp-node-agent/hcp-node-agent/internal/api/v1alpha1"
	"github.com/hcp-node-agent/hcp-node-agent/internal/kube"
)

const (
	remediatedLimit = 2
	remediatedAfter = 10 * time.Minute
)

// hostSimulation runs two replicas of the controller and some hosts against one API server: one request at a time, in
// random order.
type hostSimulation struct {
	*testing.T
	seed     uint64
	action   v1alpha1.RemediationAction
	random   *rand.Rand
	now      time.Time
	api      client.WithWatch
	hosts    map[string]*simulatedHost
	replicas []*remediatingReplica
	created  int // Nodes
	acted    int // Nodes that were tainted or deleted
	restored int
	isOutage bool // which all replicas have observed
}

// simulatedHost is the host of a node.
type simulatedHost struct {
	isOff         bool
	isCut         bool      // from the API server, as all hosts are in an outage
	wasCutUntil   time.Time // end of its last outage
	isTerminating bool      // a pod is terminating on it
	isDeleted     bool      // its Node was deleted by the controller, and it is not back
}

// remediatingReplica is a replica whose cache has old versions of the objects. It waits before each request.
type remediatingReplica struct {
	*gate
	reconciler *remediationReconciler
	nodes      corev1.NodeList
	object     *v1alpha1.NodeRemediation
}

func newHostSimulation(t *testing.T, seed uint64) *hostSimulation {
	t.Helper()
	s := &hostSimulation{
		T: t, seed: seed, random: rand.New(rand.NewPCG(seed, 0)), //nolint:gosec // no secret
		action: v1alpha1.RemediationTaint, hosts: map[string]*simulatedHost{},
		now: time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC),
	}
	if seed%2 == 1 {
		s.action = v1alpha1.RemediationDelete
	}
	objects := []client.Object{&v1alpha1.NodeRemediation{
		ObjectMeta: metav1.ObjectMeta{Name: "pool"},
		Spec: v1alpha1.NodeRemediationSpec{
			Action: s.action, After: metav1.Duration{Duration: remediatedAfter},
			MaxUnhealthy: ptr.To(intstr.FromInt32(remediatedLimit)),
		},
	}}
	for i := range 9 { // the last three are in no NodePool
		name := fmt.Sprintf("worker-%d", i)
		record := &v1alpha1.NodeEnrollment{ObjectMeta: metav1.ObjectMeta{Name: name}}
		if record.Spec.UsedBy = usedBy("SHA256:00"); i < 6 {
			record.Spec.NodePool = "pool"
		}
		objects = append(objects, record, s.newNode(name))
		s.hosts[name] = &simulatedHost{}
	}
	s.api = fake.NewClientBuilder().WithScheme(newScheme()).WithObjects(objects...).
		WithStatusSubresource(&v1alpha1.NodeRemediation{}).
		WithIndex(&v1alpha1.NodeEnrollment{}, nodePoolIndex, enrolledNodePool).Build()
	s.replicas = []*remediatingReplica{s.newReplica(), s.newReplica()}
	return s
}

// newNode returns a new Node, which is Ready.
func (s *hostSimulation) newNode(name string) *corev1.Node {
	s.created++
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(fmt.Sprint(s.created))}}
	node.Status.Conditions = []corev1.NodeCondition{{
		Type: corev1.NodeReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(s.now),
	}}
	return node
}

func (s *hostSimulation) newReplica() *remediatingReplica {
	r := &remediatingReplica{gate: newGate()}
	cached := interceptor.NewClient(s.api, interceptor.Funcs{
		Get: func(ctx context.Context, api client.WithWatch, key client.ObjectKey, into client.Object,
			options ...client.GetOption,
		) error {
			if object, isRemediation := into.(*v1alpha1.NodeRemediation); isRemediation {
				r.object.DeepCopyInto(object)
				return nil
			}
			return api.Get(ctx, key, into, options...)
		},
		List: func(
			ctx context.Context, api client.WithWatch, into client.ObjectList, options ...client.ListOption,
		) error {
			if list, isNodes := into.(*corev1.NodeList); isNodes {
				r.nodes.DeepCopyInto(list)
				return nil
			}
			return api.List(ctx, into, options...)
		},
		Patch: func(ctx context.Context, api client.WithWatch, object client.Object, patch client.Patch,
			options ...client.PatchOption,
		) error {
			return r.request(func() error {
				before := s.findNode(object.GetName())
				err := api.Patch(ctx, object, patch, options...)
				if err == nil {
					s.checkPatch(before, object.(*corev1.Node))
				}
				return err
			})
		},
		Delete: func(
			ctx context.Context, api client.WithWatch, object client.Object, options ...client.DeleteOption,
		) error {
			return r.request(func() error {
				err := api.Delete(ctx, object, options...)
				if all := (&client.DeleteOptions{}).ApplyOptions(options); err == nil && len(all.DryRun) == 0 {
					s.checkAction(object.GetName())
					s.hosts[object.GetName()].isDeleted = true
				}
				return err
			})
		},
		SubResourcePatch: r.patchStatus,
	})
	live := interceptor.NewClient(s.api, interceptor.Funcs{
		Get: r.get,
		List: func(
			ctx context.Context, api client.WithWatch, into client.ObjectList, options ...client.ListOption,
		) error {
			return r.request(func() error {
				pods, isPods := into.(*metav1.PartialObjectMetadataList)
				if !isPods {
					return api.List(ctx, into, options...)
				}
				all := (&client.ListOptions{}).ApplyOptions(options)
				node, _ := all.FieldSelector.RequiresExactMatch("spec.nodeName")
				if s.hosts[node].isTerminating {
					pod := metav1.PartialObjectMetadata{}
					pod.Name, pod.DeletionTimestamp = "db-0", ptr.To(metav1.NewTime(s.now))
					pods.Items = append(pods.Items, pod)
				}
				return nil
			})
		},
	})
	r.reconciler = &remediationReconciler{
		client: cached, live: live, events: &events.FakeRecorder{}, now: func() time.Time { return s.now },
	}
	s.refresh(r)
	return r
}

// refresh updates the cache of a replica.
func (s *hostSimulation) refresh(r *remediatingReplica) {
	s.refreshObject(r)
	r.nodes = corev1.NodeList{}
	s.must(s.api.List(s.Context(), &r.nodes))
}

// refreshObject updates the NodeRemediation in the cache of a replica.
func (s *hostSimulation) refreshObject(r *remediatingReplica) {
	r.object = &v1alpha1.NodeRemediation{}
	s.must(s.api.Get(s.Context(), client.ObjectKey{Name: "pool"}, r.object))
}

func (s *hostSimulation) advance(r *remediatingReplica, failure error) {
	s.Helper()
	r.advance(s.T, s.seed, r.reconciler, failure)
}

// settle lets all replicas end what they do, and then some of them decide with a current cache.
func (s *hostSimulation) settle(replicas ...*remediatingReplica) {
	for _, r := range s.replicas {
		for r.isRunning {
			s.advance(r, nil)
		}
	}
	for _, r := range replicas {
		s.refresh(r)
		for s.advance(r, nil); r.isRunning; {
			s.advance(r, nil)
		}
	}
}

func (s *hostSimulation) findNode(name string) *corev1.Node {
	node := &corev1.Node{}
	if err := s.api.Get(s.Context(), client.ObjectKey{Name: name}, node); err != nil {
		return nil
	}
	return node
}

// checkPatch checks the change of the taints of a Node.
func (s *hostSimulation) checkPatch(before, after *corev1.Node) {
	if len(after.Spec.Taints) > len(before.Spec.Taints) {
		s.checkAction(after.Name)
		return
	}
	s.restored++
	isAdmins := func(taint corev1.Taint) bool { return taint.TimeAdded == nil }
	if !kube.IsReady(before) || s.hosts[after.Name].isTerminating ||
		slices.ContainsFunc(before.Spec.Taints, isAdmins) != slices.ContainsFunc(after.Spec.Taints, isAdmins) {
		s.Errorf("seed %d: the taints of %s are changed from %v to %v, %+v", s.seed, after.Name, before.Spec.Taints,
			after.Spec.Taints, s.hosts[after.Name])
	}
}

// checkAction checks that a node may be tainted or deleted now: its host must be off for long enough, and no outage may
// be the cause.
func (s *hostSimulation) checkAction(name string) {
	s.acted++
	host := s.hosts[name]
	if !host.isOff || s.isOutage || s.now.Sub(host.wasCutUntil) < remediatedAfter {
		s.Errorf("seed %d: at %s, %s is remediated: %+v", s.seed, s.now, name, host)
	}
}
