// SPDX-License-Identifier: Apache-2.0

//go:build controlplane

package publisher

import (
	"bytes"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
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
`, "{apiVersion: config.openshift.io/v1, kind: ClusterVersion, metadata: {name: version}, spec: {clusterID: " +
		otherID + "}}"} {
		waittest.UntilTrue(t, "the creation", func() bool { // of a kind that is not served yet
			object := &unstructured.Unstructured{}
			check(t, yaml.Unmarshal([]byte(content), &object.Object))
			return c.hosted.Create(t.Context(), object) == nil
		})
	}
	c.setClusterID(t, c.management, hostedCluster)
	last := r.await(t, "", "the hosted cluster has the cluster ID "+otherID+", but HostedCluster hosted-a the cluster ID "+
		clusterID)
	if !strings.Contains(last.Remedy, "\noc -n clusters get hostedclusters ") {
		t.Errorf("remedy %q", last.Remedy)
	}
	before := c.published(t, "workers")
	c.setToken(t, firstToken)
	r.awaitRounds(t)
	after := c.published(t, "workers")
	if after == nil || after.ResourceVersion != before.ResourceVersion ||
		bytes.Equal(after.Data[v1alpha1.UserDataKey], c.userData(t, firstToken)) {
		t.Error("the user data of another cluster was published")
	}
	c.setClusterID(t, c.hosted, clusterVersion)
	c.awaitContent(t, "workers", firstToken)
}

// The IDs of the hosted cluster and of another one. That of a HostedCluster cannot be changed.
const (
	clusterID = "2b1f6f0e-3b0a-4a6e-9d0b-5a4f3c2d1e00"
	otherID   = "7e5b7b9e-8e0e-4d5b-9f4b-0d3c5a1e2f30"
)

// The objects with the ID of the hosted cluster.
const (
	hostedCluster = "{apiVersion: hypershift.openshift.io/v1beta1, kind: HostedCluster, " +
		"metadata: {name: hosted-a, namespace: clusters}}"
	clusterVersion = "{apiVersion: config.openshift.io/v1, kind: ClusterVersion, metadata: {name: version}}"
)

// setClusterID sets spec.clusterID of an object to clusterID.
func (*clusters) setClusterID(t *testing.T, c client.Client, manifest string) {
	t.Helper()
	object := &unstructured.Unstructured{}
	check(t, yaml.Unmarshal([]byte(manifest), &object.Object))
	check(t, c.Patch(t.Context(), object, client.RawPatch(types.MergePatchType,
		[]byte(`{"spec": {"clusterID": "`+clusterID+`"}}`))))
}
