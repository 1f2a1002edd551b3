// SPDX-License-Identifier: Apache-2.0

//go:build controlplane

package controller

import (
	"context"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/hcp-node-agent/hcp-node-agent/internal/api/v1alpha1"
	"github.com/hcp-node-agent/hcp-node-agent/internal/enrollment"
	"github.com/hcp-node-agent/hcp-node-agent/test/csrtest"
	"github.com/hcp-node-agent/hcp-node-agent/test/kubetest"
)

func hashesOf(t *testing.T, ca []byte) []enrollment.Hash {
	t.Helper()
	hashes, err := enrollment.CAHashes(ca)
	if err != nil {
		t.Fatal(err)
	}
	return hashes
}

// adminConfig returns the configuration of the administrator.
func adminConfig(t *testing.T) *rest.Config {
	t.Helper()
	return csrtest.Config(t, kubetest.Plane.Kubeconfig)
}

// adminClient returns a client of the administrator with the types of the controller.
func adminClient(t *testing.T) client.Client {
	t.Helper()
	c, err := client.New(adminConfig(t), client.Options{Scheme: newScheme()})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// newEnrollment returns a join token and its NodeEnrollment, for the cluster of ca.
func newEnrollment(t *testing.T, node string, ca []byte, addresses ...string) (
	*enrollment.Token, *v1alpha1.NodeEnrollment,
) {
	t.Helper()
	desired := enrollment.Options{NodeName: node, ClusterCA: ca, Lifetime: time.Hour}
	for _, address := range addresses {
		prefix, err := enrollment.ParseAddress(address)
		if err != nil {
			t.Fatal(err)
		}
		desired.Addresses = append(desired.Addresses, prefix)
	}
	token, record, err := enrollment.New(desired, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	object, err := record.Object()
	if err != nil {
		t.Fatal(err)
	}
	return token, object
}

// create creates a NodeEnrollment, and deletes it after the test.
func create(t *testing.T, object *v1alpha1.NodeEnrollment) {
	t.Helper()
	admin := adminClient(t)
	if err := admin.Create(t.Context(), object); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := admin.Delete(context.Background(), object); client.IgnoreNotFound(err) != nil {
			t.Error(err)
		}
	})
}

// enroll creates a NodeEnrollment and returns its join token.
func enroll(t *testing.T, node string, addresses ...string) *enrollment.Token {
	t.Helper()
	token, object := newEnrollment(t, node, csrtest.ClusterCA(t), addresses...)
	create(t, object)
	return token
}

func getEnrollment(t *testing.T, node string) *v1alpha1.NodeEnrollment {
	t.Helper()
	object := &v1alpha1.NodeEnrollment{}
	if err := adminClient(t).Get(t.Context(), client.ObjectKey{Name: node}, object); err != nil {
		t.Fatal(err)
	}
	return object
}

// change changes an object that has been read, as oc patch does: its controller may write it at the same time.
func change[T client.Object](t *testing.T, object T, apply func(T)) {
	t.Helper()
	before, _ := object.DeepCopyObject().(client.Object)
	apply(object)
	if err := adminClient(t).Patch(t.Context(), object, client.MergeFrom(before)); err != nil {
		t.Fatal(err)
	}
}

func deleteEnrollment(t *testing.T, node string) {
	t.Helper()
	if err := adminClient(t).Delete(t.Context(), getEnrollment(t, node)); err != nil {
		t.Fatal(err)
	}
}

// setReady writes the condition Ready of a Node, as its kubelet or the controller of Nodes does.
func setReady(t *testing.T, node string, status corev1.ConditionStatus, reason, message string) {
	t.Helper()
	admin, object := adminClient(t), &corev1.Node{}
	if err := admin.Get(t.Context(), client.ObjectKey{Name: node}, object); err != nil {
		t.Fatal(err)
	}
	before := object.DeepCopy()
	object.Status.Conditions = []corev1.NodeCondition{
		{
			Type: corev1.NodeReady, Status: status, Reason: reason, Message: message, LastTransitionTime: metav1.Now(),
		},
	}
	if err := admin.Status().Patch(t.Context(), object, client.StrategicMergeFrom(before)); err != nil {
		t.Fatal(err)
	}
}

// requestFor returns the request to reconcile the object with a name.
func requestFor(name string) reconcile.Request {
	return reconcile.Request{NamespacedName: types.NamespacedName{Name: name}}
}
