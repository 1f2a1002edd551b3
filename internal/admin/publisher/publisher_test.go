// SPDX-License-Identifier: Apache-2.0

package publisher

import (
	"context"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/hcp-node-agent/hcp-node-agent/internal/admin/nodepool"
	"github.com/hcp-node-agent/hcp-node-agent/internal/api/v1alpha1"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// A NodePool with a problem keeps its published user data, and a Secret that was created by hand remains as it is.
func TestPublishOneNodePool(t *testing.T) {
	const content = "config:844282c1 expires:2100-01-01T11:00:00Z release:4.20.3]"
	const problem = "the payload is not generated (ValidGeneratedPayload is not True): InvalidConfig: wrong unit"
	const foreign = "Secret user-data-workers in namespace hcp-node-admin of the hosted cluster exists without the label"
	old, manual := oldSecret("workers"), oldSecret("workers")
	delete(manual.Labels, v1alpha1.LabelManagedBy)
	for _, test := range []struct {
		name       string
		before     []client.Object
		hasProblem bool
		after, log string
	}{
		{"first user data", nil, false, "new map[" + content, "the user data is published"},
		{"newer user data", []client.Object{old}, false, "new map[a:b " + content, "the user data is published"},
		{"problem without user data", nil, true, "", problem},
		{"problem", []client.Object{old}, true, "old map[a:b config:1 problem:" + problem + "]", problem},
		{"created by hand", []client.Object{manual}, false, "old map[a:b config:1 problem:1]", foreign},
		{"problem, created by hand", []client.Object{manual}, true, "old map[a:b config:1 problem:1]", foreign},
	} {
		t.Run(test.name, func(t *testing.T) {
			p := newPublisherTest(t, test.before...)
			if test.hasProblem {
				p.pools[0].Status.Conditions = []metav1.Condition{{
					Type: "ValidGeneratedPayload", Status: "False", Reason: "InvalidConfig", Message: "wrong unit",
				}}
			}
			p.publishAll(t.Context())
			if got := p.text(); got != test.after {
				t.Errorf("the Secret is %q, want %q", got, test.after)
			}
			if len(p.logged) != 1 || !strings.Contains(p.logged[0].Message+p.logged[0].Error, test.log) ||
				p.logged[0].NodePool != "workers" || (len(p.recorder.Events) == 1) != (p.logged[0].Error != "") {
				t.Errorf("logged %+v with %d Events, want %q", p.logged, len(p.recorder.Events), test.log)
			}
			before := p.published("workers")
			p.publishAll(t.Context())
			if after := p.published("workers"); before != nil && before.ResourceVersion != after.ResourceVersion {
				t.Errorf("the Secret was written again: %v, then %v", before, after)
			}
			if len(p.logged) != 1 || len(p.recorder.Events) > 1 {
				t.Errorf("reported again: %+v", p.logged)
			}
		})
	}
}

// HyperShift deletes the user data of a former configuration before it names the new one, so user data that is missing
// once is no problem.
func TestMissingUserDataIsReportedTheSecondTime(t *testing.T) {
	p := newPublisherTest(t, oldSecret("workers"))
	p.cluster.Status.Kubeconfig = &corev1.LocalObjectReference{Name: "hosted-a-admin-kubeconfig"}
	complete := p.userData
	for range 2 { // it is replaced, later again
		p.userData = nil
		before, logged := p.published("workers"), len(p.logged)
		p.publishAll(t.Context())
		if after := p.published("workers"); after.ResourceVersion != before.ResourceVersion || len(p.logged) != logged ||
			len(p.recorder.Events) > 0 {
			t.Errorf("missing once: %v, logged %+v", after.Annotations, p.logged)
		}
		p.userData = complete
		p.publishAll(t.Context())
		if got := p.text(); !strings.HasPrefix(got, "new map[") {
			t.Errorf("not published: %q", got)
		}
	}
	p.userData = nil
	p.publishAll(t.Context())
	p.publishAll(t.Context())
	const problem = "Secret user-data-workers-844282c1 does not exist in namespace clusters-hosted-a"
	if last := p.logged[len(p.logged)-1]; !strings.Contains(last.Error, problem) || len(p.recorder.Events) != 1 ||
		!strings.Contains(p.text(), "problem:"+problem) {
		t.Errorf("missing for longer: %+v, %q", p.logged, p.text())
	}
	p.publishAll(t.Context())
	if len(p.recorder.Events) != 1 {
		t.Errorf("reported again: %+v", p.logged)
	}
}

// The Secret of a NodePool is deleted with the NodePool. Others, and those that were created by hand, remain.
func TestDeleteSecretsOfDeletedNodePools(t *testing.T) {
	manual, named, unlabeled := oldSecret("manual"), oldSecret("named"), oldSecret("unlabeled")
	delete(manual.Labels, v1alpha1.LabelManagedBy)
	named.Labels[v1alpha1.LabelNodePool] = "another"
	delete(unlabeled.Labels, v1alpha1.LabelNodePool)
	p := newPublisherTest(t, oldSecret("deleted"), manual, named, unlabeled)
	p.pools = append(p.pools, newPool("second"))
	p.publishAll(t.Context())
	if at := p.recorded["second"]; p.published("second") == nil || at.IsZero() {
		t.Fatalf("the second NodePool is not published: %+v", p.logged)
	}
	p.pools = p.pools[:1]
	p.publishAll(t.Context())
	for pool, want := range map[string]bool{
		"workers": true, "second": false, "deleted": false, "manual": true, "named": true, "unlabeled": true,
	} {
		if got := p.published(pool) != nil; got != want {
			t.Errorf("the Secret of %s exists: %t, want %t", pool, got, want)
		}
	}
	if at, isRecorded := p.recorded["second"]; !isRecorded || !at.IsZero() {
		t.Errorf("the deletion was recorded at %s: %t", at, isRecorded)
	}
}

// Without the HostedCluster or its NodePools, nothing is deleted, and no success is recorded.
func TestUnreadableManagementCluster(t *testing.T) {
	p := newPublisherTest(t)
	p.publishAll(t.Context())
	readable, first := p.cluster, p.recorded[list]
	p.cluster, p.pools = nil, nil
	for range 2 {
		p.publishAll(t.Context())
	}
	last := p.logged[len(p.logged)-1]
	if len(p.logged) != 2 || !strings.Contains(last.Error, "HostedCluster hosted-a does not exist") {
		t.Errorf("logged %+v", p.logged)
	}
	if p.published("workers") == nil || p.recorded[list] != first || len(p.recorder.Events) != 0 {
		t.Errorf("recorded %v", p.recorded)
	}
	p.cluster, p.pools = readable, []*nodepool.NodePool{newPool("workers")}
	p.publishAll(t.Context())
	last = p.logged[len(p.logged)-1]
	if len(p.logged) != 3 || last.Message != "the management cluster is read again" || !p.recorded[list].After(first) {
		t.Errorf("logged %+v, recorded %v", p.logged, p.recorded)
	}
}

// Only the nodes of the same hosted cluster get its user data. A cluster without a ClusterVersion is not checked.
func TestCheckCluster(t *testing.T) {
	notServed := &meta.NoKindMatchError{GroupKind: schema.GroupKind{Group: "config.openshift.io", Kind: "ClusterVersion"}}
	forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "clusterversions"}, "version", nil)
	for _, test := range []struct {
		name             string
		managed, running string // cluster IDs of the HostedCluster and of the ClusterVersion
		failure          error  // of the request for the ClusterVersion
		want             string
	}{
		{"the same", "a", "a", nil, ""},
		{"another", "a", "b", nil, "the hosted cluster has the cluster ID b, but HostedCluster hosted-a the cluster ID a"},
		{"unknown in the management cluster", "", "b", nil, ""},
		{"unknown in the hosted cluster", "a", "", nil, ""},
		{"no ClusterVersion", "a", "", apierrors.NewNotFound(schema.GroupResource{}, "version"), ""},
		{"not OpenShift", "a", "", notServed, ""},
		{"no permission", "a", "", forbidden, "getting ClusterVersion version in the hosted cluster"},
	} {
		p := newPublisherTest(t)
		p.cluster.Spec.ClusterID = test.managed
		p.Live = interceptor.NewClient(p.hosted, interceptor.Funcs{Get: func(
			ctx context.Context, api client.WithWatch, key client.ObjectKey, into client.Object, options ...client.GetOption,
		) error {
			version, isVersion := into.(*unstructured.Unstructured)
			if !isVersion {
				return api.Get(ctx, key, into, options...)
			}
			version.Object["spec"] = map[string]any{"clusterID": test.running}
			return test.failure
		}})
		p.publishAll(t.Context())
		last := p.logged[len(p.logged)-1]
		if isPublished := p.published("workers") != nil; isPublished != (test.want == "") ||
			!strings.Contains(last.Error, test.want) {
			t.Errorf("%s: published %t, logged %+v, want %q", test.name, isPublished, p.logged, test.want)
		}
	}
}

// A failure is reported once, with the remedy for its cause, and nothing is reported when the publisher ends.
func TestReportChangesOnly(t *testing.T) {
	p := newPublisherTest(t)
	refused := report.Fail(report.CredentialRefused, "# another remedy", "no permission")
	failed := report.Fail(report.Failed, "oc get nodes", "no connection")
	for _, err := range []error{nil, nil, failed, failed, refused, nil, nil} {
		p.report(t.Context(), "workers", err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	p.report(ended, "workers", failed)
	const published, unpublished = "the user data is published", "newer user data is not published"
	want := []entry{
		{Message: published, NodePool: "workers"},
		{Message: unpublished, NodePool: "workers", Error: "no connection", Remedy: "oc get nodes"},
		{Message: unpublished, NodePool: "workers", Error: "no permission", Remedy: remedy},
		{Message: published, NodePool: "workers"},
	}
	if !slices.Equal(p.logged, want) {
		t.Errorf("logged %+v, want %+v", p.logged, want)
	}
	if len(p.recorder.Events) != 2 {
		t.Errorf("%d Events", len(p.recorder.Events))
	}
}
