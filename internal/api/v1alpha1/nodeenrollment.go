// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// NodeEnrollment admits one host as the node with the name of the object: the controller approves the CSRs of the host
// that has the join token. The status shows the state of the node.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Cluster,shortName=hne
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Phase",type=string,JSONPath=`.status.phase`
// +kubebuilder:printcolumn:name="Release",type=string,JSONPath=`.status.release`
// +kubebuilder:printcolumn:name="NodePool",type=string,JSONPath=`.spec.nodePool`
// +kubebuilder:printcolumn:name="Certificate",type=string,format=date-time,JSONPath=`.status.certificateExpires`
// +kubebuilder:printcolumn:name="Reported",type=date,JSONPath=`.status.lastReport`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.reason`
// +kubebuilder:printcolumn:name="Config",type=string,JSONPath=`.status.configHash`,priority=1
// +kubebuilder:printcolumn:name="Class",type=string,JSONPath=`.status.hostClass`,priority=1
// +kubebuilder:printcolumn:name="Addresses",type=string,JSONPath=`.spec.addresses`,priority=1
// +kubebuilder:printcolumn:name="Machine",type=string,JSONPath=`.status.machineID`,priority=1
// +kubebuilder:printcolumn:name="Token",type=string,format=date-time,JSONPath=`.spec.expires`,priority=1
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`,priority=1
// +kubebuilder:validation:XValidation:rule="size(self.metadata.name) <= 63",message="a node name has at most 63 characters"
type NodeEnrollment struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec NodeEnrollmentSpec `json:"spec"`
	// +optional
	Status NodeEnrollmentStatus `json:"status,omitzero"`
}

// NodeEnrollmentSpec describes the host. The fields of the join token cannot be changed: a new join token needs a new
// object.
//
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.usedBy) || has(self.usedBy) && (self.usedBy == oldSelf.usedBy || has(self.reinstall) && self.reinstall == 'AllowSameToken')",message="the join token was used: that is recorded for good, and a new join token needs a new NodeEnrollment"
type NodeEnrollmentSpec struct {
	// TokenID is the ID of the join token.
	//
	// +kubebuilder:validation:Pattern=`^[0-9a-f]{32}$`
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="a new join token needs a new NodeEnrollment"
	TokenID string `json:"tokenID"`

	// PublicKey is the Ed25519 public key of the join token in PEM format.
	//
	// +kubebuilder:validation:MaxLength=256
	// +kubebuilder:validation:Pattern=`^-----BEGIN PUBLIC KEY-----\n`
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="a new key needs a new NodeEnrollment"
	PublicKey string `json:"publicKey"`

	// ClusterCA are hashes of the CAs that identify the hosted cluster for which the join token is.
	//
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:Pattern=`^SHA256:[0-9a-f]{64}$`
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="another cluster needs a new NodeEnrollment"
	ClusterCA []string `json:"clusterCA"`

	// Expires is the time until which a host can join with the join token. It does not limit a node that has joined.
	//
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Format=date-time
	// +kubebuilder:validation:Pattern=`^2[0-9]{3}-[0-9]{2}-[0-9]{2}T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\.[0-9]+)?(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])$`
	Expires metav1.Time `json:"expires"`

	// UsedBy is the key with which the host has used the join token. The controller writes it before it approves the CSR
	// of the host. No other key can use the join token, also after a restore without the status. Only reinstall
	// AllowSameToken permits that the next key replaces it.
	//
	// +optional
	UsedBy *TokenUse `json:"usedBy,omitempty"`

	// Addresses are the addresses or CIDRs that the serving certificate of the node may contain. Without any, a person
	// approves the serving CSR.
	//
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=64
	// +kubebuilder:validation:items:Pattern=`^[0-9A-Fa-f:.]+(/[0-9]{1,3})?$`
	Addresses []string `json:"addresses,omitempty"`

	// NodePool is the name of the NodePool whose release and configuration the node has.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=253
	NodePool string `json:"nodePool,omitempty"`

	// Labels are set on the Node, also those that a kubelet must not set. One that is removed here is removed from the
	// Node.
	//
	// +optional
	// +kubebuilder:validation:MaxProperties=64
	// +kubebuilder:validation:XValidation:rule=`self.all(k, size(k) <= 317 && k.matches('^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$'))`,message="the key of a label has the form [PREFIX/]NAME"
	Labels map[string]string `json:"labels,omitempty"`

	// Taints are set on the Node. A taint that is removed here is removed from the Node, unless others have set or
	// changed it there.
	//
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	Taints []NodeTaint `json:"taints,omitempty"`

	// Reinstall decides whether the host may join although its Node exists, because the host was reinstalled: Allow, with
	// a new NodeEnrollment; AllowSameToken, also with the same join token until it expires. A Node that is Ready is never
	// replaced.
	//
	// +optional
	// +kubebuilder:default=Refuse
	Reinstall ReinstallPolicy `json:"reinstall,omitempty"`
}

// TokenUse is the use of a join token.
type TokenUse struct {
	// Key is the fingerprint of the key of the host.
	//
	// +kubebuilder:validation:MaxLength=128
	// +kubebuilder:validation:Pattern=`^SHA256:[0-9a-f]+$`
	Key string `json:"key"`

	// At is when the controller recorded the use.
	//
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Format=date-time
	// +kubebuilder:validation:Pattern=`^2[0-9]{3}-[0-9]{2}-[0-9]{2}T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\.[0-9]+)?(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])$`
	At metav1.Time `json:"at"`
}

// NodeTaint is a taint of a Node.
type NodeTaint struct {
	// Key is the key of the taint.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=317
	// +kubebuilder:validation:Pattern=`^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$`
	Key string `json:"key"`

	// Value is the value of the taint.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?$`
	Value string `json:"value,omitempty"`

	// Effect applies to pods that do not tolerate the taint.
	//
	// +kubebuilder:validation:Enum=NoSchedule;PreferNoSchedule;NoExecute
	Effect corev1.TaintEffect `json:"effect"`
}

// ReinstallPolicy decides what happens if a host joins whose Node exists.
//
// +kubebuilder:validation:Enum=Allow;AllowSameToken;Refuse
type ReinstallPolicy string

// Policies for a host whose Node exists.
const (
	ReinstallAllow          ReinstallPolicy = "Allow"
	ReinstallAllowSameToken ReinstallPolicy = "AllowSameToken"
	ReinstallRefuse         ReinstallPolicy = "Refuse"
)

// ReplacesNode reports whether a host may join although its Node exists.
func (p ReinstallPolicy) ReplacesNode() bool {
	return p == ReinstallAllow || p == ReinstallAllowSameToken
}

// NodeEnrollmentStatus is the state of the node. Only the controller writes it.
type NodeEnrollmentStatus struct {
	// Phase is the state of the node in one word.
	//
	// +optional
	Phase Phase `json:"phase,omitempty"`

	// Reason is the nearest cause of the phase.
	//
	// +optional
	Reason string `json:"reason,omitempty"`

	// MachineID is the machine ID of the host, as kubelet reports it.
	//
	// +optional
	MachineID string `json:"machineID,omitempty"`

	// ClientCSR is the name of the last client CSR that was approved by this enrollment.
	//
	// +optional
	ClientCSR string `json:"clientCSR,omitempty"`

	// ServingCSR is the name of the last serving CSR that was approved by this enrollment.
	//
	// +optional
	ServingCSR string `json:"servingCSR,omitempty"`

	// AppliedTaints are the taints of the specification that the controller has set on the Node.
	//
	// +optional
	// +listType=atomic
	AppliedTaints []NodeTaint `json:"appliedTaints,omitempty"`

	// Release is the OpenShift release of the payload that the node has applied.
	//
	// +optional
	Release string `json:"release,omitempty"`

	// ConfigHash is the hash of the payload that the node has applied.
	//
	// +optional
	ConfigHash string `json:"configHash,omitempty"`

	// ReachedConfig is the hash of the NodePool's configuration that the node had when the controller decided about a
	// rollout. A node that reports another one afterwards, for example because it was rolled back, gets no slot for it
	// again until an administrator permits it.
	//
	// +optional
	ReachedConfig string `json:"reachedConfig,omitempty"`

	// HostClass is the class of the host: package, rhcos or bootc.
	//
	// +optional
	HostClass string `json:"hostClass,omitempty"`

	// CertificateExpires is the end of validity of the first certificate of the node to expire.
	//
	// +optional
	CertificateExpires *metav1.Time `json:"certificateExpires,omitempty"`

	// LastReport is the time of the last report of the agent.
	//
	// +optional
	LastReport *metav1.Time `json:"lastReport,omitempty"`

	// Conditions are the conditions of the node.
	//
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// Phase is the state of a node in one word, for people. Programs read the conditions: further phases can be added.
type Phase string

// Phases of a node.
const (
	PhasePending   Phase = "Pending"   // no host has used the join token
	PhaseEnrolled  Phase = "Enrolled"  // a host has used the join token; its Node does not exist yet
	PhaseJoined    Phase = "Joined"    // the Node exists, and was not Ready yet
	PhaseReady     Phase = "Ready"     // the Node is Ready, and the agent reports nothing else
	PhaseUpgrading Phase = "Upgrading" // the agent upgrades the node
	PhaseDegraded  Phase = "Degraded"  // the Node is Ready, and the agent has found a problem
	PhaseDrifted   Phase = "Drifted"   // the host differs from what the agent has applied
	PhaseFailed    Phase = "Failed"    // the join token has expired, the Node is not Ready, or an upgrade failed
	PhaseLost      Phase = "Lost"      // kubelet reports nothing, or the Node was deleted
)

// Phases returns all phases of a node.
func Phases() []Phase {
	return []Phase{
		PhasePending, PhaseEnrolled, PhaseJoined, PhaseReady, PhaseUpgrading, PhaseDegraded, PhaseDrifted, PhaseFailed,
		PhaseLost,
	}
}

// Types of conditions.
const (
	ConditionEnrolled            = "Enrolled"            // a host has used the join token
	ConditionJoined              = "Joined"              // the Node exists
	ConditionReady               = "Ready"               // the Node is Ready
	ConditionUpToDate            = "UpToDate"            // the node has the release and configuration of its NodePool
	ConditionDrifted             = "Drifted"             // the host differs from what the agent has applied
	ConditionCertificateExpiring = "CertificateExpiring" // a certificate of the node expires soon
)

// NodeEnrollmentList is a list of NodeEnrollments.
//
// +kubebuilder:object:root=true
type NodeEnrollmentList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []NodeEnrollment `json:"items"`
}
