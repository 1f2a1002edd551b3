// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"fmt"
	"strings"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/api/v1alpha1"
	"github.com/hcp-node-agent/hcp-node-agent/internal/approver"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// next returns what the node waits for.
func (d *Description) next(now time.Time) []report.Problem {
	var all []report.Problem
	if e := d.Enrollment; e != nil {
		all = append(all, e.next(now, d.Node != nil || d.isUnreadable("nodes"))...)
	} else {
		all = append(all, report.Problem{
			Message: "the Node has no NodeEnrollment, so that the controller does not approve its CSRs",
			Remedy:  "# nothing, if its CSRs are approved in another way",
		})
	}
	all = append(all, d.nextApprovals()...)
	if d.Node != nil && d.Node.IsUnschedulable {
		all = append(all, report.Problem{
			Message: "the Node is cordoned: no pods are scheduled on it",
			Remedy:  report.Remedy("oc adm uncordon " + d.Name + " # after its maintenance or upgrade"),
		})
	}
	return all
}

// next returns what an enrollment waits for.
func (e *Enrollment) next(now time.Time, exists bool) []report.Problem {
	isUsed := e.BoundKey != ""
	switch {
	case e.IsDeleted:
		return []report.Problem{{Message: "the NodeEnrollment is being deleted", Remedy: "# retried automatically"}}
	case e.Invalid != "":
		return []report.Problem{{
			Message: "the NodeEnrollment is invalid: " + e.Invalid, Remedy: "# correct the object, or enroll the node again",
		}}
	case !isUsed && !exists && !now.Before(e.TokenExpires):
		return []report.Problem{{
			Message: "the join token has expired, and no host has used it", Remedy: "# enroll the node again",
		}}
	case !isUsed && !exists:
		return []report.Problem{{
			Message: "no host has used the join token, which is valid until " + report.Timestamp(e.TokenExpires),
			Remedy:  "# copy the join token to the host, which joins with it",
		}}
	case !exists:
		return []report.Problem{{
			Message: "a host has used the join token, but its Node does not exist",
			Remedy:  "journalctl -u hcp-node-agent # on the host",
		}}
	}
	switch v1alpha1.Phase(e.Phase) {
	case v1alpha1.PhaseFailed, v1alpha1.PhaseLost, v1alpha1.PhaseDrifted:
		return []report.Problem{{
			Message: fmt.Sprintf("the node is %s: %s", e.Phase, e.Reason),
			Remedy:  "hcp-node-agent doctor # on the host",
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
