// SPDX-License-Identifier: Apache-2.0

//go:build controlplane

package publisher

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hcp-node-agent/hcp-node-agent/internal/api/v1alpha1"
	"github.com/hcp-node-agent/hcp-node-agent/test/csrtest"
	"github.com/hcp-node-agent/hcp-node-agent/test/kubetest"
	"github.com/hcp-node-agent/hcp-node-agent/test/rights"
	"github.com/hcp-node-agent/hcp-node-agent/test/waittest"
)

func TestControlPlanePublisher(t *testing.T) {
	c := startClusters(t)
	c.createPool(t, "other", "hosted-b") // of another HostedCluster
	r := c.start(t, c.managementConfig, "hosted-a")
	t.Run("publish", func(t *testing.T) { c.checkPublished(t, r) })
	t.Run("rotation", func(t *testing.T) { c.checkRotation(t, r) })
	t.Run("problem of the NodePool", func(t *testing.T) { c.checkProblem(t, r) })
	// Events with one reason are counted in the first one for minutes, so this one is after the problem above.
	t.Run("new configuration", func(t *testing.T) { c.checkNewConfiguration(t, r) })
	t.Run("long name", c.checkLongName)
	t.Run("foreign Secret", func(t *testing.T) { c.checkForeign(t, r) })
	t.Run("deleted NodePool", func(t *testing.T) { c.checkDeleted(t, r) })
	t.Run("unreachable management cluster", func(t *testing.T) { c.checkUnreachable(t, r) })
	t.Run("permissions", c.checkPermissions)
	t.Run("another hosted cluster", func(t *testing.T) { c.checkOtherCluster(t, r) })
	t.Run("rejected credential", func(t *testing.T) { c.checkRejected(t, r) })
	r.stop()
	t.Run("wrong name of the HostedCluster", c.checkWrongName)
}

// published returns the Secret of a NodePool, nil if it does not exist.
func (c *clusters) published(t *testing.T, pool string) *corev1.Secret {
	t.Helper()
	secret := newSecret(pool)
	err := c.hosted.Get(t.Context(), client.ObjectKeyFromObject(secret), secret)
	if client.IgnoreNotFound(err) != nil {
		t.Fatal(err)
	}
	if err != nil {
		return nil
	}
	return secret
}

// awaitContent waits until the user data with a token is published.
func (c *clusters) awaitContent(t *testing.T, pool, token string) *corev1.Secret {
	t.Helper()
	var secret *corev1.Secret
	waittest.UntilTrue(t, "the user data of "+pool, func() bool {
		secret = c.published(t, pool)
		return secret != nil && bytes.Equal(secret.Data[v1alpha1.UserDataKey], c.userData(t, token))
	})
	return secret
}

func (c *clusters) checkPublished(t *testing.T, r *running) {
	secret := c.awaitContent(t, "workers", firstToken)
	annotations := secret.Annotations
	expires, err := time.Parse(time.RFC3339, annotations[v1alpha1.AnnotationPoolExpires])
	if err != nil || time.Until(expires) < 10*time.Hour || annotations[v1alpha1.AnnotationPoolConfig] != "844282c1" ||
		annotations[v1alpha1.AnnotationPoolRelease] != "4.20.3" || len(annotations) != 3 ||
		secret.Labels[v1alpha1.LabelNodePool] != "workers" || len(secret.Labels) != 2 || len(secret.Data) != 1 {
		t.Errorf("%v, annotations %v, labels %v", err, annotations, secret.Labels)
	}
	r.await(t, "workers", "the user data is published")
	for _, pool := range []string{"aws", "other"} {
		if c.published(t, pool) != nil || len(r.all(pool)) > 0 {
			t.Errorf("NodePool %s was considered: %v", pool, r.all(pool))
		}
	}
	c.change(t, "workers", func(pool map[string]any) {
		check(t, unstructured.SetNestedField(pool, "25%", "spec", "management", "inPlace", "maxUnavailable"))
		check(t, unstructured.SetNestedField(pool, "45m", "spec", "nodeDrainTimeout"))
	})
	waittest.UntilTrue(t, "the limits", func() bool {
		state := v1alpha1.StateOfPublished(c.published(t, "workers"))
		return state.MaxUnavailable == "25%" && state.DrainTimeout == 45*time.Minute
	})
}

// change changes a NodePool.
func (c *clusters) change(t *testing.T, name string, change func(map[string]any)) {
	t.Helper()
	pool := c.pool(t, name)
	change(pool.Object)
	check(t, c.management.Update(t.Context(), pool))
}

func (c *clusters) setPayloadCondition(t *testing.T, status string) {
	t.Helper()
	check(t, c.objects.PatchStatus(t.Context(), "nodepool", "workers", `{"conditions": [{"type": "ValidGeneratedPayload",
		"status": "`+status+`", "reason": "InvalidConfig", "message": "wrong systemd unit",
		"lastTransitionTime": "2026-01-01T00:00:00Z"}]}`))
}

// A NodePool with a problem keeps its published user data.
func (c *clusters) checkProblem(t *testing.T, r *running) {
	c.setPayloadCondition(t, "")
	const problem = "the payload is not generated (ValidGeneratedPayload is not True): InvalidConfig: wrong systemd unit"
	last := r.await(t, "workers", "newer user data is not published: "+problem)
	if !strings.Contains(last.Remedy, "oc -n "+controlPlane+" logs deployment/ignition-server") {
		t.Errorf("remedy %q", last.Remedy)
	}
	failed, _ := r.last("workers")
	c.setToken(t, firstToken)
	waittest.UntilTrue(t, "the annotation", func() bool {
		return c.published(t, "workers").Annotations[v1alpha1.AnnotationPoolProblem] == problem
	})
	waittest.UntilTrue(t, "the Event", func() bool {
		var list eventsv1.EventList
		check(t, c.hosted.List(t.Context(), &list, client.InNamespace(v1alpha1.Namespace)))
		for _, event := range list.Items {
			if event.Reason == "UserDataNotPublished" && event.Type == corev1.EventTypeWarning &&
				event.Regarding.Name == "user-data-workers" && event.Note == problem {
				return true
			}
		}
		return false
	})
	r.awaitRounds(t)
	secret := c.published(t, "workers")
	if !bytes.Equal(secret.Data[v1alpha1.UserDataKey], c.userData(t, secondToken)) ||
		secret.Annotations[v1alpha1.AnnotationPoolConfig] != "844282c1" {
		t.Error("the user data of a NodePool with a problem was published")
	}
	if all := r.all("workers"); len(all) != 2 {
		t.Errorf("the problem was logged more than once: %+v", all)
	}
	if at, _ := r.last("workers"); at != failed {
		t.Error("the problem was recorded as a success")
	}
	c.setPayloadCondition(t, "True")
	secret = c.awaitContent(t, "workers", firstToken)
	if text, has := secret.Annotations[v1alpha1.AnnotationPoolProblem]; has {
		t.Errorf("the annotation remains: %s", text)
	}
	r.await(t, "workers", "the user data is published")
}

// A Secret that the publisher has not created is never changed.
func (c *clusters) checkForeign(t *testing.T, r *running) {
	manual := newSecret("manual")
	manual.Labels = map[string]string{v1alpha1.LabelNodePool: "manual"}
	manual.Data = map[string][]byte{v1alpha1.UserDataKey: []byte("by hand")}
	check(t, c.hosted.Create(t.Context(), manual))
	c.createPool(t, "manual", "hosted-a")
	last := r.await(t, "manual", "Secret user-data-manual in namespace hcp-node-admin of the hosted cluster exists "+
		"without the label app.kubernetes.io/managed-by=hcp-node-admin-publisher")
	if !strings.Contains(last.Remedy, "\noc -n hcp-node-admin delete secret user-data-manual") {
		t.Errorf("remedy %q", last.Remedy)
	}
	if got := c.published(t, "manual"); got.ResourceVersion != manual.ResourceVersion {
		t.Errorf("the Secret was changed: %v", got)
	}
	check(t, c.hosted.Delete(t.Context(), manual))
	c.awaitContent(t, "manual", firstToken)
}

func (c *clusters) checkDeleted(t *testing.T, r *running) {
	byHand := newSecret("by-hand") // of no NodePool of the management cluster
	byHand.Labels = map[string]string{v1alpha1.LabelNodePool: "by-hand"}
	check(t, c.hosted.Create(t.Context(), byHand))
	c.createPool(t, "reused", "hosted-a")
	c.awaitContent(t, "reused", firstToken)
	check(t, c.management.Delete(t.Context(), c.pool(t, "manual")))
	check(t, c.management.Delete(t.Context(), c.pool(t, "reused")))
	c.createPool(t, "reused", "hosted-b")
	for _, pool := range []string{"manual", "reused"} {
		waittest.UntilTrue(t, "the deletion of the Secret of "+pool, func() bool { return c.published(t, pool) == nil })
		waittest.UntilTrue(t, "the end of the time series of "+pool, func() bool {
			at, isRecorded := r.last(pool)
			return isRecorded && at.IsZero()
		})
	}
	if c.published(t, "by-hand") == nil || c.published(t, "workers") == nil {
		t.Error("the Secret of another NodePool, or one that was created by hand, was deleted")
	}
}

func (c *clusters) checkUnreachable(t *testing.T, r *running) {
	before := len(r.all(""))
	c.proxy.SetCut(true)
	last := r.await(t, "", "newer user data is not published: getting HostedCluster clusters/hosted-a on the "+
		"management cluster "+c.proxy.Server())
	if last.Error == "" || c.published(t, "workers") == nil {
		t.Errorf("%+v", last)
	}
	failed, _ := r.last("")
	c.setToken(t, secondToken)
	c.proxy.SetCut(false)
	c.awaitContent(t, "workers", secondToken)
	waittest.UntilTrue(t, "the next time of a success", func() bool {
		at, _ := r.last("")
		return at.After(failed)
	})
	r.await(t, "", "the management cluster is read again")
	if all := r.all(""); len(all) > before+3 { // while connections close, the error can be another one
		t.Errorf("logged %+v", all[before:])
	}
}

// The manifests grant what the publisher needs, and nothing else.
func (*clusters) checkPermissions(t *testing.T) {
	const user = "system:serviceaccount:" + v1alpha1.Namespace + ":" + rights.Controller
	const group = "hypershift.openshift.io"
	for _, test := range []struct {
		right authorizationv1.ResourceAttributes
		want  bool
	}{
		{authorizationv1.ResourceAttributes{Verb: "list", Group: group, Resource: "nodepools", Namespace: namespace}, true},
		{authorizationv1.ResourceAttributes{
			Verb: "get", Group: group, Resource: "hostedclusters", Namespace: namespace, Name: "hosted-a",
		}, true},
		{authorizationv1.ResourceAttributes{Verb: "get", Resource: "secrets", Namespace: controlPlane}, true},

		{authorizationv1.ResourceAttributes{Verb: "list", Resource: "secrets", Namespace: controlPlane}, false},
		{authorizationv1.ResourceAttributes{Verb: "watch", Resource: "secrets", Namespace: controlPlane}, false},
		{authorizationv1.ResourceAttributes{Verb: "update", Resource: "secrets", Namespace: controlPlane}, false},
		{authorizationv1.ResourceAttributes{Verb: "get", Resource: "secrets", Namespace: namespace}, false},
		{authorizationv1.ResourceAttributes{Verb: "get", Resource: "secrets", Namespace: v1alpha1.Namespace}, false},
		{authorizationv1.ResourceAttributes{Verb: "get", Resource: "secrets", Namespace: "kube-system"}, false},
		{authorizationv1.ResourceAttributes{Verb: "get", Resource: "pods", Namespace: controlPlane}, false},
		{authorizationv1.ResourceAttributes{Verb: "patch", Group: group, Resource: "nodepools", Namespace: namespace}, false},
		{authorizationv1.ResourceAttributes{Verb: "list", Group: group, Resource: "nodepools"}, false},
		{authorizationv1.ResourceAttributes{
			Verb: "get", Group: group, Resource: "hostedclusters", Namespace: namespace, Name: "hosted-b",
		}, false},
	} {
		if got := csrtest.Allowed(t, user, test.right); got != test.want {
			t.Errorf("%+v: allowed %t", test.right, got)
		}
	}
}

func (c *clusters) checkRejected(t *testing.T, r *running) {
	account := &corev1.ServiceAccount{
		ObjectMeta: metav1.ObjectMeta{Namespace: v1alpha1.Namespace, Name: rights.Controller},
	}
	const rejected = "the credential of the kubeconfig is rejected (HTTP 401)"
	check(t, c.management.Delete(t.Context(), account))
	// The first request of a round. It can be a later one that was rejected first.
	last := r.await(t, "", "getting HostedCluster clusters/hosted-a on the management cluster "+c.proxy.Server()+
		": "+rejected)
	r.awaitRounds(t)
	logged := slices.DeleteFunc(r.all(""), func(one entry) bool { return one.Error != last.Error })
	if last.Remedy != remedy || len(logged) != 1 || c.published(t, "workers") == nil {
		t.Errorf("logged %+v", logged)
	}
}

// A wrong name is no reason to delete everything.
func (c *clusters) checkWrongName(t *testing.T) {
	r := c.start(t, csrtest.Config(t, kubetest.Plane.Kubeconfig), "hosted")
	r.await(t, "", "HostedCluster hosted does not exist in namespace clusters, which has: hosted-a")
	if c.published(t, "workers") == nil {
		t.Error("the published user data was deleted")
	}
	r.stop()
	again := c.start(t, csrtest.Config(t, kubetest.Plane.Kubeconfig), "hosted-a")
	again.await(t, "workers", "the user data is published")
}
