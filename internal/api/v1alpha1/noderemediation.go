// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// NodeRemediation permits the controller to act on unresponsive nodes of the NodePool with the name of the object, so
// that their pods can run elsewhere. Without a NodeRemediation, such nodes remain as they are.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Cluster,shortName=hnm
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Action",type=string,JSONPath=`.spec.action`
// +kubebuilder:printcolumn:name="After",type=string,JSONPath=`.spec.after`
// +kubebuilder:printcolumn:name="Nodes",type=integer,JSONPath=`.status.nodes`
// +kubebuilder:printcolumn:name="Unhealthy",type=integer,JSONPath=`.status.unhealthy`
// +kubebuilder:printcolumn:name="Remediated",type=string,JSONPath=`.status.remediated[*].node`
// +kubebuilder:printcolumn:name="Waiting",type=string,JSONPath=`.status.waiting`
type NodeRemediation struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec NodeRemediationSpec `json:"spec"`
	// +optional
	Status NodeRemediationStatus `json:"status,omitzero"`
}

// NodeRemediationSpec describes what is done with unresponsive nodes, and when. A node is unresponsive if the status of
// its condition Ready is Unknown.
type NodeRemediationSpec struct {
	// Action is done with a node that is unresponsive. Either action requires that the hosts are really off when they are
	// unresponsive: a host that has only lost its network continues to write to its volumes, while pods on other nodes
	// write to the same volumes. Taint sets node.kubernetes.io/out-of-service=nodeshutdown:NoExecute, until the node is
	// Ready again. Delete deletes the Node.
	Action RemediationAction `json:"action"`

	// After is how long a node must have been unresponsive, such as 10m. It is at least 5m, after which Kubernetes evicts
	// the pods of such a node. A server can need longer for a reboot.
	//
	// +optional
	// +kubebuilder:default="10m"
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('5m') && duration(self) <= duration('720h')",message="after is a duration from 5m to 720h"
	After metav1.Duration `json:"after,omitzero"`

	// MaxUnhealthy is the number or percentage of nodes of the NodePool that may be unresponsive. While more are, no node
	// is remediated. A percentage is rounded down, to at least one node.
	//
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:XValidation:rule="type(self) == string ? self.matches('^([1-9][0-9]?|100)%$') : self > 0 && self <= 2147483647",message="maxUnhealthy is a positive number or a percentage from 1% to 100%"
	MaxUnhealthy *intstr.IntOrString `json:"maxUnhealthy,omitempty"`
}

// RemediationAction is an action for an unresponsive node.
//
// +kubebuilder:validation:Enum=Taint;Delete
type RemediationAction string

// Actions.
const (
	RemediationTaint  RemediationAction = "Taint"  // set the taint out-of-service
	RemediationDelete RemediationAction = "Delete" // delete the Node
)

// NodeRemediationStatus is the state of the nodes. Only the controller writes it.
type NodeRemediationStatus struct {
	// ObservedGeneration is the generation of the specification to which the status belongs.
	//
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// Nodes is the number of enrolled nodes of the NodePool that have joined.
	//
	// +optional
	Nodes int32 `json:"nodes"`

	// Unhealthy is the number of nodes that are unresponsive, or were deleted by a remediation and are not back.
	//
	// +optional
	Unhealthy int32 `json:"unhealthy"`

	// Waiting is why unresponsive nodes are not remediated now.
	//
	// +optional
	Waiting string `json:"waiting,omitempty"`

	// NotBefore is the time before which no other node is remediated: when nodes are responsive again after an outage,
	// the others get the same time to return.
	//
	// +optional
	NotBefore *metav1.Time `json:"notBefore,omitempty"`

	// Remediated are the nodes that are remediated. A node is recorded before the action.
	//
	// +optional
	// +listType=map
	// +listMapKey=node
	Remediated []RemediatedNode `json:"remediated,omitempty"`

	// Conditions are the conditions of the NodePool's nodes.
	//
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// Types of the conditions of a NodeRemediation.
const (
	ConditionRemediating = "Remediating" // nodes are remediated
	ConditionBlocked     = "Blocked"     // unresponsive nodes are not remediated, for a reason that can be permanent
)

// RemediatedNode records the remediation of a node.
type RemediatedNode struct {
	// Node is the name of the node.
	Node string `json:"node"`

	// UID is the UID of the Node.
	UID types.UID `json:"uid"`

	// Action is the action for the node.
	Action RemediationAction `json:"action"`

	// At is when the controller recorded the node. The taint has the same time.
	At metav1.Time `json:"at"`

	// Applied is whether the action was done.
	//
	// +optional
	Applied bool `json:"applied,omitempty"`

	// ReadySince is when the controller observed that the Node is Ready again.
	//
	// +optional
	ReadySince *metav1.Time `json:"readySince,omitempty"`
}

// NodeRemediationList is a list of NodeRemediations.
//
// +kubebuilder:object:root=true
type NodeRemediationList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []NodeRemediation `json:"items"`
}
