// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// NodeRollout permits the controller to upgrade the nodes of the NodePool with the name of the object, and limits the
// pace. Nodes of a NodePool without a NodeRollout are upgraded by hand.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Cluster,shortName=hnr
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Release",type=string,JSONPath=`.status.release`
// +kubebuilder:printcolumn:name="Nodes",type=integer,JSONPath=`.status.nodes`
// +kubebuilder:printcolumn:name="Updated",type=integer,JSONPath=`.status.updated`
// +kubebuilder:printcolumn:name="Unavailable",type=integer,JSONPath=`.status.unavailable`
// +kubebuilder:printcolumn:name="Failed",type=integer,JSONPath=`.status.failed`
// +kubebuilder:printcolumn:name="Paused",type=boolean,JSONPath=`.spec.paused`
// +kubebuilder:printcolumn:name="Waiting",type=string,JSONPath=`.status.waiting`
// +kubebuilder:printcolumn:name="Config",type=string,JSONPath=`.status.config`,priority=1
type NodeRollout struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +optional
	Spec NodeRolloutSpec `json:"spec,omitzero"`
	// +optional
	Status NodeRolloutStatus `json:"status,omitzero"`
}

// NodeRolloutSpec limits the pace.
type NodeRolloutSpec struct {
	// Paused stops the rollout: no other node is upgraded. Nodes that are being upgraded are completed.
	//
	// +optional
	Paused bool `json:"paused,omitempty"`

	// MaxUnavailable is the number or percentage of nodes that may be unavailable at a time, those that are not Ready or
	// cordoned included. While more are unavailable, no upgrade begins. The default is that of the NodePool.
	//
	// +optional
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:XValidation:rule="type(self) == string ? self.matches('^([1-9][0-9]?|100)%$') : self > 0 && self <= 2147483647",message="maxUnavailable is a positive number or a percentage from 1% to 100%"
	MaxUnavailable *intstr.IntOrString `json:"maxUnavailable,omitempty"`

	// Canary selects the nodes that are upgraded before all others, by the labels in the specifications of their
	// NodeEnrollments: a node cannot select itself. The others wait until all of these are upgraded and available.
	//
	// +optional
	Canary *metav1.LabelSelector `json:"canary,omitempty"`

	// Window limits the times at which the upgrade of a node begins.
	//
	// +optional
	Window *MaintenanceWindow `json:"window,omitempty"`

	// AllowMajor permits upgrades to an image with another major version of RHEL than that of the node (RHCOS). Without
	// it, such an upgrade fails before the node is drained. The default stream of a NodePool is rhel-10 from OpenShift 5.0
	// on, and a NodePool cannot return to rhel-9.
	//
	// +optional
	AllowMajor bool `json:"allowMajor,omitempty"`

	// MaxFailures is the number of nodes whose upgrade may fail before the rollout stops. A failed upgrade is never
	// repeated automatically.
	//
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=2147483647
	MaxFailures int32 `json:"maxFailures,omitempty"`

	// SlotTimeout is the time after which the upgrade of a node counts as failed although the node has not reported its
	// end, such as 2h30m. Without it, such a node is released by hand.
	//
	// +optional
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('0s')",message="slotTimeout is a duration such as 2h30m"
	SlotTimeout *metav1.Duration `json:"slotTimeout,omitempty"`

	// Retries are failed upgrades that are repeated. An entry that is none of the failures in the status has no effect.
	//
	// +optional
	// +listType=map
	// +listMapKey=node
	// +kubebuilder:validation:MaxItems=1000
	Retries []UpgradeRetry `json:"retries,omitempty"`

	// EndedSlots are slots whose upgrades count as failed, for example because the node is lost. An entry that is none of
	// the slots in the status has no effect.
	//
	// +optional
	// +listType=map
	// +listMapKey=node
	// +kubebuilder:validation:MaxItems=1000
	EndedSlots []EndedSlot `json:"endedSlots,omitempty"`
}

// UpgradeRetry selects a failed upgrade.
type UpgradeRetry struct {
	// Node is the name of the node.
	//
	// +kubebuilder:validation:MaxLength=253
	Node string `json:"node"`

	// FailedAt is the time of the failure as it is in the status.
	//
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Format=date-time
	// +kubebuilder:validation:Pattern=`^2[0-9]{3}-[0-9]{2}-[0-9]{2}T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]\.[0-9]{6}(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])$`
	FailedAt metav1.MicroTime `json:"failedAt"`
}

// EndedSlot selects a slot.
type EndedSlot struct {
	// Node is the name of the node.
	//
	// +kubebuilder:validation:MaxLength=253
	Node string `json:"node"`

	// Given is when the slot was given, as it is in the status.
	//
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Format=date-time
	// +kubebuilder:validation:Pattern=`^2[0-9]{3}-[0-9]{2}-[0-9]{2}T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]\.[0-9]{6}(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])$`
	Given metav1.MicroTime `json:"given"`
}

// MaintenanceWindow is a time that begins regularly.
type MaintenanceWindow struct {
	// Schedule describes when the window opens, as the five fields of cron.
	//
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	// +kubebuilder:validation:XValidation:rule="!self.contains('TZ=')",message="the time zone is in timeZone"
	// +kubebuilder:validation:XValidation:rule="self.matches('^[0-9A-Za-z*?,/-]+( +[0-9A-Za-z*?,/-]+){4}$')",message="schedule has the five fields of cron"
	Schedule string `json:"schedule"`

	// Duration is how long the window is open, such as 4h.
	//
	// +kubebuilder:validation:XValidation:rule="duration(self) > duration('0s')",message="duration is a positive duration such as 4h"
	Duration metav1.Duration `json:"duration"`

	// TimeZone is the name of the time zone of the schedule, such as Europe/Prague. The default is UTC.
	//
	// +optional
	// +kubebuilder:validation:MaxLength=64
	TimeZone string `json:"timeZone,omitempty"`
}

// NodeRolloutStatus is the state of the rollout. Only the controller writes it.
type NodeRolloutStatus struct {
	// Config is the hash of the NodePool's current configuration.
	//
	// +optional
	Config string `json:"config,omitempty"`

	// Release is the OpenShift release of the NodePool.
	//
	// +optional
	Release string `json:"release,omitempty"`

	// Nodes is the number of enrolled nodes of the NodePool that have joined.
	//
	// +optional
	Nodes int32 `json:"nodes"`

	// Updated is the number of nodes with the current configuration.
	//
	// +optional
	Updated int32 `json:"updated"`

	// Unavailable is the number of nodes that are not Ready, cordoned, are being upgraded, or have a slot.
	//
	// +optional
	Unavailable int32 `json:"unavailable"`

	// Failed is the number of nodes whose upgrade to the current configuration failed.
	//
	// +optional
	Failed int32 `json:"failed"`

	// Waiting is why nodes without the current configuration are not upgraded now, and the problem of the NodePool that
	// prevents the publication of newer user data.
	//
	// +optional
	Waiting string `json:"waiting,omitempty"`

	// Slots are the nodes that may be upgraded now.
	//
	// +optional
	// +listType=map
	// +listMapKey=node
	Slots []UpgradeSlot `json:"slots,omitempty"`

	// Failures are the nodes whose last upgrade failed. They are not upgraded to the same configuration again, unless
	// they are among the retries of the specification.
	//
	// +optional
	// +listType=map
	// +listMapKey=node
	Failures []UpgradeFailure `json:"failures,omitempty"`

	// Conditions are the conditions of the rollout.
	//
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// Types of the conditions of a NodeRollout. They do not exclude each other.
const (
	ConditionCompleted   = "Completed"   // all nodes have the configuration of the NodePool
	ConditionProgressing = "Progressing" // nodes are being upgraded
	ConditionPaused      = "Paused"      // an administrator has stopped the rollout: no upgrade begins
	ConditionDegraded    = "Degraded"    // upgrades have failed, or no upgrade can begin until an administrator acts
)

// UpgradeSlot permits a node to upgrade to a configuration.
type UpgradeSlot struct {
	// Node is the name of the node.
	Node string `json:"node"`

	// Config is the hash of the configuration.
	Config string `json:"config"`

	// Given is when the slot was given, by the clock of the controller.
	Given metav1.MicroTime `json:"given"`
}

// UpgradeFailure records that the upgrade of a node failed.
type UpgradeFailure struct {
	// Node is the name of the node.
	Node string `json:"node"`

	// Config is the hash of the configuration to which the node was upgraded.
	Config string `json:"config"`

	// Reason is why the upgrade failed.
	Reason string `json:"reason"`

	// At is when the controller recorded the failure.
	At metav1.MicroTime `json:"at"`
}

// CurrentFailures returns the failures of upgrades to the configuration that the NodePool has now.
func (s *NodeRolloutStatus) CurrentFailures() []UpgradeFailure {
	var current []UpgradeFailure
	for _, failure := range s.Failures {
		if failure.Config == s.Config {
			current = append(current, failure)
		}
	}
	return current
}

// NodeRolloutList is a list of NodeRollouts.
//
// +kubebuilder:object:root=true
type NodeRolloutList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []NodeRollout `json:"items"`
}
