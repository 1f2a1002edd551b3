// SPDX-License-Identifier: Apache-2.0

// Package v1alpha1 defines the API of hcp-node-admin in a hosted cluster: NodeEnrollment admits a host as a node and
// shows the state of that node; NodeRollout permits upgrades of the nodes of a NodePool; NodeRemediation permits to
// taint or delete its unresponsive nodes. deploy/hosted-base/crd.yaml is generated from it.
//
// +kubebuilder:object:generate=true
// +groupName=hcp-node-agent.io
package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupVersion is the group and version of the API.
var GroupVersion = schema.GroupVersion{Group: "hcp-node-agent.io", Version: "v1alpha1"}

// AddToScheme registers the types of the API.
func AddToScheme(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(GroupVersion, &NodeEnrollment{}, &NodeEnrollmentList{}, &NodeRollout{}, &NodeRolloutList{},
		&NodeRemediation{}, &NodeRemediationList{})
	metav1.AddToGroupVersion(scheme, GroupVersion)
	return nil
}
