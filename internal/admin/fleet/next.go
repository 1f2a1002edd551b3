// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hcp-node-agent/hcp-node-agent/internal/api/v1alpha1"
	"github.com/hcp-node-agent/hcp-node-agent/internal/approver"
	"github.com/hcp-node-agent/hcp-node-agent/internal/kube"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// next returns what the node waits for.
func (d *Description) next(now time.Time) []report.Problem {
	var all []report.Problem
	if d.Enrollment != nil {
		all = append(all, d.nextEnrollment(now, d.Node != nil || d.isUnreadable("nodes"))...)
	} else {
		all = append(all, report.Problem{
			Message: "the Node has no NodeEnrollment, so that the controller does not approve its CSRs",
		})
	}
	all = append(d.nextHealth(), all...)
	all = append(all, d.nextApprovals()...)
	switch {
	case d.Node == nil:
	case d.isUpgrading():
		all = append(all, report.Problem{
			Message: d.upgrade() + "; the agent has cordoned the Node, and uncordons it at the end",
			Remedy:  "journalctl -u hcp-node-agent # on the host: the progress; wait until it has ended",
		})
	case d.Node.Spec.Unschedulable:
		all = append(all, report.Problem{
			Message: "the Node is cordoned: no pods are scheduled on it",
			Remedy:  report.Remedy("oc adm uncordon " + d.Name + " # after its maintenance"),
		})
	}
	return all
}

// isUpgrading reports whether an upgrade is in progress, by the report of the agent or by the controller.
func (d *Description) isUpgrading() bool {
	return d.agent(v1alpha1.AnnotationState) == string(v1alpha1.AgentUpgrading) || d.phase() == v1alpha1.PhaseUpgrading
}

// upgrade returns since when the node is upgraded, and what the agent does.
func (d *Description) upgrade() string {
	message := "upgrade in progress"
	if d.slot != nil {
		message += " since " + report.Timestamp(*d.slot)
	}
	if reason := d.agent(v1alpha1.AnnotationReason); reason != "" {
		message += " (" + reason + ")"
	}
	return message
}

// diagnosis returns why the node is not fine: what the agent has found on the host, before what kubelet and the
// controller report, which is often an effect of it. It returns "" for a node that is fine, or whose Node does not
// exist.
func (d *Description) diagnosis() string {
	if d.Node == nil && !d.isUnreadable("nodes") {
		return ""
	}
	isLost, observed := false, ""
	if d.Enrollment != nil {
		status := d.Enrollment.Status
		isLost = status.Phase == v1alpha1.PhaseFailed || status.Phase == v1alpha1.PhaseLost
		if status.Reason != "" && status.Phase != v1alpha1.PhaseJoined {
			observed = fmt.Sprintf("the node is %s: %s", status.Phase, text(status.Reason))
		}
		expiring := meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionCertificateExpiring)
		if observed == "" && expiring != nil && expiring.Status == metav1.ConditionTrue {
			observed = "a certificate is not renewed: " + text(expiring.Message)
		}
	}
	state, reason := v1alpha1.AgentState(d.agent(v1alpha1.AnnotationState)), d.agent(v1alpha1.AnnotationReason)
	switch {
	case d.isUpgrading() && isLost:
		return d.upgrade() + ", but " + observed
	case d.isUpgrading():
		return d.upgrade()
	case reason != "" && (state == v1alpha1.AgentDegraded || state == v1alpha1.AgentDrifted):
		return "the agent reports: " + reason
	case observed != "" || d.Node == nil:
		return observed
	}
	switch ready := kube.NodeCondition(d.Node, corev1.NodeReady); {
	case ready == nil && d.phase() != v1alpha1.PhaseReady:
		return "the Node has not reported yet whether it is Ready"
	case ready != nil && ready.Status != corev1.ConditionTrue:
		return "the Node is not Ready: " + text(ready.Message)
	}
	return ""
}

// nextHealth returns the diagnosis with the command that finds the cause.
func (d *Description) nextHealth() []report.Problem {
	diagnosis := d.diagnosis()
	if diagnosis == "" || diagnosis == d.upgrade() {
		return nil
	}
	return []report.Problem{{Message: diagnosis, Remedy: "hcp-node-agent doctor # on the host"}}
}

// nextEnrollment returns what the enrollment waits for.
func (d *Description) nextEnrollment(now time.Time, exists bool) []report.Problem {
	isUsed, expires := d.Enrollment.Spec.UsedBy != nil, d.Enrollment.Spec.Expires.Time
	switch {
	case d.Enrollment.DeletionTimestamp != nil:
		return []report.Problem{{Message: "the NodeEnrollment is being deleted", Remedy: "# retried automatically"}}
	case d.Invalid != "":
		return []report.Problem{{
			Message: "the NodeEnrollment is invalid: " + d.Invalid, Remedy: "# correct the object, or enroll the node again",
		}}
	case !isUsed && !exists && !now.Before(expires):
		return []report.Problem{{
			Message: "the join token has expired, and no host has used it", Remedy: "# enroll the node again",
		}}
	case !isUsed && !exists:
		return []report.Problem{{
			Message: "no host has used the join token, which is valid until " + report.Timestamp(expires),
			Remedy: "# copy the join token to the host, which joins with it; if the host has booted with a file that contains " +
				"it, on the host:\njournalctl -b -u cloud-init -u cloud-final -u hcp-node-agent",
		}}
	case !exists:
		return []report.Problem{{
			Message: "a host has used the join token, but its Node does not exist",
			Remedy:  "journalctl -u hcp-node-agent # on the host",
		}}
	}
	return nil
}

// nextApprovals returns the commands for the CSRs that are pending.
func (d *Description) nextApprovals() []report.Problem {
	var all []report.Problem
	for _, csr := range approver.PendingCSRs(d.CSRs) {
		problem := report.Problem{
			Message: "the client CSR " + approver.DisplayName(csr.Name) + " is pending",
			Remedy:  report.Remedy("hcp-node-admin approve " + d.Name + " # prints the reasons for and against it"),
		}
		switch {
		case csr.Key == "": // it cannot be approved
			continue
		case csr.IsServing():
			problem.Message = fmt.Sprintf("the serving CSR %s is pending, for %s", approver.DisplayName(csr.Name),
				strings.Join(csr.Addresses, ", "))
		}
		all = append(all, problem)
	}
	return all
}
