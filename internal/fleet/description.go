// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/api/v1alpha1"
	"github.com/hcp-node-agent/hcp-node-agent/internal/approver"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/schema"
)

// Description describes one node. Its texts contain no control characters, and are limited in length.
type Description struct {
	Name       string                `json:"name" doc:"name of the node"`
	Enrollment *Enrollment           `json:"enrollment,omitempty" doc:"NodeEnrollment; absent if it does not exist"`
	Node       *Node                 `json:"node,omitempty" doc:"Node; absent if it does not exist"`
	Agent      *Agent                `json:"agent,omitempty" doc:"annotations in which the agent reports with the credential of the node, which can write anything there; absent if there are none"`
	CSRs       []approver.CSRSummary `json:"csrs" doc:"newest CSRs with the name, the credential or the join token of the node, sorted by time"`
	Events     []Event               `json:"events" doc:"newest Events of the NodeEnrollment and of the Node, sorted by time"`
	Next       []report.Problem      `json:"next" doc:"what the node waits for, and the next commands"`
	Unreadable []string              `json:"unreadable,omitempty" doc:"kinds of objects that the credential must not read"`
}

// Enrollment describes a NodeEnrollment.
type Enrollment struct {
	Created            time.Time   `json:"created" doc:"time at which the NodeEnrollment was created"`
	IsDeleted          bool        `json:"isDeleted,omitempty" doc:"whether it is being deleted"`
	Invalid            string      `json:"invalid,omitempty" doc:"why it admits no host; absent if it is valid"`
	TokenID            string      `json:"joinTokenID" doc:"ID of the join token"`
	TokenExpires       time.Time   `json:"joinTokenExpires" doc:"time until which a host can join with the join token"`
	NodePool           string      `json:"nodePool,omitempty" doc:"name of the NodePool"`
	Addresses          []string    `json:"addresses,omitempty" doc:"addresses or CIDRs that the serving certificate may contain"`
	Reinstall          Reinstall   `json:"reinstall,omitempty" doc:"whether the host may join although its Node exists"`
	UsedKey            string      `json:"usedKey,omitempty" doc:"fingerprint of the key with which the join token was used"`
	UsedAt             *time.Time  `json:"usedAt,omitempty" doc:"time at which the join token was used"`
	ClientCSR          string      `json:"clientCSR,omitempty" doc:"last client CSR that was approved by the enrollment"`
	ServingCSR         string      `json:"servingCSR,omitempty" doc:"last serving CSR that was approved by the enrollment"`
	Phase              Phase       `json:"phase,omitempty" doc:"state of the node in one word; absent until the controller has written it"`
	Reason             string      `json:"reason,omitempty" doc:"nearest cause of the phase"`
	Release            string      `json:"release,omitempty" doc:"OpenShift release that the node has applied"`
	Config             string      `json:"config,omitempty" doc:"hash of the payload that the node has applied"`
	HostClass          string      `json:"hostClass,omitempty" doc:"class of the host: package, rhcos or bootc"`
	MachineID          string      `json:"machineID,omitempty" doc:"machine ID of the host"`
	CertificateExpires *time.Time  `json:"certificateExpires,omitempty" doc:"time at which the first certificate of the node expires"`
	LastReport         *time.Time  `json:"lastReport,omitempty" doc:"time of the last report of the agent"`
	Conditions         []Condition `json:"conditions" doc:"conditions that the controller has written"`
}

// Phase is the phase of a NodeEnrollment.
type Phase v1alpha1.Phase

// Enum returns all phases.
func (Phase) Enum() []string { return Phases() }

// Phases returns all phases of a NodeEnrollment.
func Phases() []string {
	return schema.Strings(v1alpha1.Phases()...)
}

// Reinstall is the policy for a host whose Node exists.
type Reinstall v1alpha1.ReinstallPolicy

// Enum returns all policies.
func (Reinstall) Enum() []string {
	return schema.Strings(v1alpha1.ReinstallAllow, v1alpha1.ReinstallRefuse)
}

// Condition is a condition of a NodeEnrollment or a Node.
type Condition struct {
	Type    string    `json:"type" doc:"type of the condition"`
	Status  string    `json:"status" doc:"status of the condition: True, False or Unknown"`
	Reason  string    `json:"reason,omitempty" doc:"reason in one word"`
	Message string    `json:"message,omitempty" doc:"message of the condition"`
	Since   time.Time `json:"since" doc:"time of the last change of the status"`
}

// Node describes a Node.
type Node struct {
	Created         time.Time   `json:"created" doc:"time at which the Node was created"`
	KubeletVersion  string      `json:"kubeletVersion,omitempty" doc:"version of kubelet"`
	OSImage         string      `json:"osImage,omitempty" doc:"operating system"`
	MachineID       string      `json:"machineID,omitempty" doc:"machine ID of the host"`
	Addresses       []string    `json:"addresses" doc:"addresses that the node reports, as TYPE=ADDRESS"`
	Taints          []string    `json:"taints" doc:"taints, as KEY=VALUE:EFFECT"`
	IsUnschedulable bool        `json:"isUnschedulable" doc:"whether the Node is cordoned"`
	Conditions      []Condition `json:"conditions" doc:"conditions that kubelet or the cluster has written"`
}

// Agent contains what the agent reports. A node can write any text.
type Agent struct {
	Reported           string `json:"reported,omitempty" doc:"time of the report"`
	State              string `json:"state,omitempty" doc:"state of the node"`
	Reason             string `json:"reason,omitempty" doc:"nearest cause of the state"`
	Release            string `json:"release,omitempty" doc:"OpenShift release of the payload that the node has applied"`
	Config             string `json:"config,omitempty" doc:"configuration of the NodePool that the node has applied"`
	HostClass          string `json:"hostClass,omitempty" doc:"class of the host"`
	CertificateExpires string `json:"certificateExpires,omitempty" doc:"time at which the first certificate of the node expires"`
}

// Event describes an Event.
type Event struct {
	Time    time.Time `json:"time" doc:"time of the last occurrence"`
	Type    string    `json:"type" doc:"type of the Event: Normal or Warning"`
	Object  string    `json:"object" doc:"kind of the object: NodeEnrollment or Node"`
	Reason  string    `json:"reason" doc:"reason in one word"`
	Message string    `json:"message" doc:"message of the Event"`
	Count   int       `json:"count" doc:"number of occurrences"`
	Source  string    `json:"source,omitempty" doc:"component that has reported the Event"`
}
