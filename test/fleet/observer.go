// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"sync"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	watchtools "k8s.io/client-go/tools/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hcp-node-agent/hcp-node-agent/internal/api/v1alpha1"
	"github.com/hcp-node-agent/hcp-node-agent/internal/kube"
)

// observer records every change of the objects that the controller reads and writes.
type observer struct {
	mu          sync.Mutex
	history     []observation
	enrollments map[string]v1alpha1.NodeEnrollmentStatus
	rollout     v1alpha1.NodeRolloutStatus
	writes      map[string]written // by kind
	changed     chan struct{}      // has a value after a change
	lost        error
}

// written counts the writes of the objects of a kind.
type written struct {
	count   int64
	bytes   int64 // of all versions, in JSON
	largest int64
}

// startObserver starts the watches of an observer, which end with ctx.
func startObserver(ctx context.Context, admin client.WithWatch) (*observer, error) {
	o := &observer{
		enrollments: map[string]v1alpha1.NodeEnrollmentStatus{}, writes: map[string]written{},
		changed: make(chan struct{}, 1),
	}
	for _, list := range []client.ObjectList{
		&corev1.NodeList{}, &certificatesv1.CertificateSigningRequestList{}, &v1alpha1.NodeEnrollmentList{},
		&v1alpha1.NodeRolloutList{}, &rbacv1.RoleBindingList{},
	} {
		if err := admin.List(ctx, list); err != nil {
			return nil, fmt.Errorf("listing what to observe: %w", err)
		}
		source := &cache.ListWatch{
			WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
				return admin.Watch(ctx, list.DeepCopyObject().(client.ObjectList), &client.ListOptions{Raw: &options})
			},
		}
		watcher, err := watchtools.NewRetryWatcherWithContext(ctx, list.GetResourceVersion(), source)
		if err != nil {
			return nil, fmt.Errorf("observing the cluster: %w", err)
		}
		go o.observe(ctx, watcher)
	}
	return o, nil
}

func (o *observer) observe(ctx context.Context, watcher *watchtools.RetryWatcher) {
	for event := range watcher.ResultChan() {
		object, isObject := event.Object.(client.Object)
		if !isObject {
			o.fail(fmt.Errorf("a watch of the observer ended: %v", event.Object))
			return
		}
		if event.Type != watch.Bookmark {
			o.record(object)
		}
	}
	if ctx.Err() == nil {
		o.fail(errors.New("a watch of the observer ended"))
	}
}

func (o *observer) fail(err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.lost = err
	o.signal()
}

// signal reports a change. The caller holds the mutex.
func (o *observer) signal() {
	select {
	case o.changed <- struct{}{}:
	default:
	}
}

func (o *observer) record(object client.Object) {
	content, _ := json.Marshal(object) // it was just decoded
	revision, _ := strconv.ParseUint(object.GetResourceVersion(), 10, 64)
	one := observation{revision: revision, name: object.GetName()}
	o.mu.Lock()
	defer o.mu.Unlock()
	kind := strings.TrimPrefix(fmt.Sprintf("%T", object), "*")
	kind = kind[strings.LastIndex(kind, ".")+1:]
	writes := o.writes[kind]
	size := int64(len(content))
	o.writes[kind] = written{writes.count + 1, writes.bytes + size, max(writes.largest, size)}
	switch object := object.(type) {
	case *corev1.Node:
		one.node = &nodeState{
			isAvailable: kube.IsReady(object) && !object.Spec.Unschedulable,
			isUpgrading: object.Annotations[v1alpha1.AnnotationState] == string(v1alpha1.AgentUpgrading),
		}
		if object.Annotations[v1alpha1.AnnotationDesiredConfig] != "" {
			one.node.slot = object.Annotations[v1alpha1.AnnotationSlot]
		}
	case *kube.CSR:
		one.csr = stateOfCSR(object)
	case *v1alpha1.NodeEnrollment:
		o.enrollments[object.Name] = object.Status
	case *v1alpha1.NodeRollout:
		o.rollout, one.slots = object.Status, map[string]slotState{}
		for _, slot := range object.Status.Slots {
			id := strconv.FormatInt(slot.Given.UnixMicro(), 10) // as the controller writes it to the Node
			one.slots[slot.Node] = slotState{id, slot.Config}
		}
	}
	if one.node != nil || one.csr != nil || one.slots != nil {
		o.history = append(o.history, one)
	}
	o.signal()
}

func stateOfCSR(csr *kube.CSR) *csrState {
	state := &csrState{
		signer:    csr.Spec.SignerName,
		isDecided: len(csr.Status.Conditions) > 0 || len(csr.Status.Certificate) > 0,
	}
	if block, _ := pem.Decode(csr.Spec.Request); block != nil {
		if request, err := x509.ParseCertificateRequest(block.Bytes); err == nil {
			state.node = strings.TrimPrefix(request.Subject.CommonName, "system:node:")
		}
	}
	for _, condition := range csr.Status.Conditions {
		if condition.Type == certificatesv1.CertificateApproved {
			state.approval = condition.LastUpdateTime.UTC().Format(time.RFC3339) + " " + condition.Message
		}
	}
	return state
}

// await waits until so returns true for what is observed. It calls so again after each change.
func (o *observer) await(ctx context.Context, what string, isReached func() bool) error {
	for {
		o.mu.Lock()
		done, lost := isReached(), o.lost
		o.mu.Unlock()
		switch {
		case lost != nil:
			return lost
		case done:
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("waiting until %s: %w", what, ctx.Err())
		case <-o.changed:
		}
		if err := sleep(ctx, 50*time.Millisecond); err != nil { // many changes come at once
			return fmt.Errorf("waiting until %s: %w", what, err)
		}
	}
}

// written returns the writes of each kind so far.
func (o *observer) written() map[string]written {
	o.mu.Lock()
	defer o.mu.Unlock()
	return maps.Clone(o.writes)
}
