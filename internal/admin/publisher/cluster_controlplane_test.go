// SPDX-License-Identifier: Apache-2.0

//go:build controlplane

package publisher

import (
	"bytes"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/hcp-node-agent/hcp-node-agent/internal/api/v1alpha1"
	"github.com/hcp-node-agent/hcp-node-agent/test/waittest"
)

// The nodes of a hosted cluster must not get the user data of another one.
func (c *clusters) checkOtherCluster(t *testing.T, r *running) {
	for _, content := range []string{`
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: clusterversions.config.openshift.io, annotations: {api-approved.kubernetes.io: unapproved}}
spec:
  group: config.openshift.io
  names: {kind: ClusterVersion, plural: clusterversions, singular: clusterversion, listKind: ClusterVersionList}
  scope: Cluster
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
`, `{apiVersion: config.openshift.io/v1, kind: ClusterVersion, metadata: {name: version}, spec: {clusterID: this}}`} {
		waittest.UntilTrue(t, "the creation", func() bool { // of a kind that is not served yet
			object := &unstructured.Unstructured{}
			check(t, yaml.Unmarshal([]byte(content), &object.Object))
			return c.hosted.Create(t.Context(), object) == nil
		})
	}
	c.setClusterID(t, "other")
	last := r.await(t, "", "the hosted cluster has the cluster ID this, but HostedCluster hosted.a the cluster ID other")
	if !strings.Contains(last.Remedy, "\noc -n clusters get hostedclusters ") {
		t.Errorf("remedy %q", last.Remedy)
	}
	before := c.published(t, "workers")
	c.setToken(t, "workers", firstToken)
	r.awaitRounds(t)
	after := c.published(t, "workers")
	if after == nil || after.ResourceVersion != before.ResourceVersion ||
		bytes.Equal(after.Data[v1alpha1.UserDataKey], c.userData(t, firstToken)) {
		t.Error("the user data of another cluster was published")
	}
	c.setClusterID(t, "this")
	c.awaitContent(t, "workers", firstToken)
}

func (c *clusters) setClusterID(t *testing.T, id string) {
	t.Helper()
	cluster := &unstructured.Unstructured{}
	cluster.SetAPIVersion("hypershift.openshift.io/v1beta1")
	cluster.SetKind("HostedCluster")
	check(t, c.management.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: "hosted.a"}, cluster))
	check(t, unstructured.SetNestedField(cluster.Object, id, "spec", "clusterID"))
	check(t, c.management.Update(t.Context(), cluster))
}
