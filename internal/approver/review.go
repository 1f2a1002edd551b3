// SPDX-License-Identifier: Apache-2.0

package approver

import (
	"cmp"
	"fmt"
	"net/netip"
	"strings"

	"github.com/hcp-node-agent/hcp-node-agent/internal/kube"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// Review is a pending CSR with the reasons for and against its approval by a person.
type Review struct {
	CSRSummary
	Node     string           `json:"node" doc:"name of the node in the CSR"`
	Findings []report.Finding `json:"findings" doc:"reasons for the approval (ok) and against it; a problem cannot be overridden"`

	CSR *kube.CSR `json:"-"`
}

// Names of the checks of a review.
const (
	reviewRules      = "rules"
	reviewEnrollment = "enrollment"
	reviewNode       = "node"
	reviewAddresses  = "addresses"
	reviewKey        = "key"
	reviewLost       = "lost"
)

// EnrollmentFacts are the enrollments that a review considers.
type EnrollmentFacts struct {
	Enrollments
	Invalid    map[string]error // why a NodeEnrollment admits no host, by the name of the node
	Unreadable error            // why NodeEnrollments cannot be read
}

// NewReview returns the reasons for and against the approval of a pending CSR. For a decided one it returns none. It
// depends only on its arguments.
func NewReview(csr *kube.CSR, node string, enrolled EnrollmentFacts, facts Facts) Review {
	r := Review{CSRSummary: Summarize(csr), Node: node, CSR: csr}
	if IsDecided(csr) {
		return r
	}
	request := ParseCSR(csr)
	add := func(check string, severity report.Severity, remedy report.Remedy, message string) {
		r.Findings = append(r.Findings, report.Finding{
			Check: check, Severity: severity, Message: report.Shorten(message, maxReasonLength), Remedy: remedy,
		})
	}
	if facts.isLost(node) {
		add(reviewLost, report.SeverityProblem, FoundRemedy(node), lostReason(node))
		return r
	}
	expected := ExpectedNode{NodeName: node, PublicKey: request.PublicKey}
	for _, address := range request.Addresses { // a person decides on the addresses
		expected.Addresses = append(expected.Addresses, netip.PrefixFrom(address, address.BitLen()))
	}
	if err := expected.CheckOwn(csr); err != nil {
		add(reviewRules, report.SeverityProblem, "", err.Error())
	} else {
		add(reviewRules, report.SeverityOK, "", "it is as the kubelet of "+node+" submits it")
	}
	severity, message, remedy := enrolled.evaluate(csr, node, facts)
	add(reviewEnrollment, severity, remedy, message)
	if r.IsServing() {
		if conflict := request.conflict(node, enrolled.Enrollments, facts).String(); conflict != "" {
			add(reviewAddresses, report.SeverityWarning, "", conflict)
		}
		add(reviewAddresses, report.SeverityNote, "", "check on the host that it has the addresses: "+
			strings.Join(r.Addresses, ", "))
		return r
	}
	switch state := facts.Node; {
	case state == nil:
		add(reviewNode, report.SeverityNote, "", unknownNode(node))
	case state.IsReady:
		add(reviewNode, report.SeverityProblem, "", "Node "+node+" is Ready, so that the CSR is of another host")
	case state.Exists:
		add(reviewNode, report.SeverityProblem, report.Remedy("oc delete node "+node+
			" # if its machine no longer exists or was reinstalled"), "Node "+node+" already exists in the cluster")
	default:
		add(reviewNode, report.SeverityOK, "", "Node "+node+" does not exist yet")
	}
	add(reviewKey, report.SeverityNote, "", "compare the key with the fingerprint that join prints on the host")
	return r
}

// evaluate returns the decision that the controller makes with the enrollments.
func (e EnrollmentFacts) evaluate(csr *kube.CSR, node string, facts Facts) (
	severity report.Severity, message string, remedy report.Remedy,
) {
	switch {
	case e.Unreadable != nil:
		return report.SeverityNote, "NodeEnrollments cannot be read: " + e.Unreadable.Error(), ""
	case e.Invalid[node] != nil:
		return report.SeverityWarning, fmt.Sprintf("the NodeEnrollment of %s is invalid: %v", node, e.Invalid[node]), ""
	}
	decision := Decide(csr, e.Enrollments, facts)
	switch decision.Outcome {
	case Approved:
		message = "the NodeEnrollment of " + node + " permits it, so that the controller approves it"
		if decision.Reason != "" {
			message += ": " + decision.Reason
		}
		return report.SeverityOK, message, "# start the controller, if it does not run"
	case Refused:
		return report.SeverityWarning, decision.Reason, decision.Remedy
	}
	if IsServing(csr) {
		decision.Remedy = "" // the command that approves it is printed below
	}
	return report.SeverityNote, cmp.Or(decision.Reason, "no NodeEnrollment applies"), decision.Remedy
}

// Problem returns why the CSR must not be approved, "" if a person can approve it.
func (r Review) Problem() string {
	for _, finding := range r.Findings {
		if finding.Severity == report.SeverityProblem {
			return finding.Message
		}
	}
	return ""
}

// Command returns the command that approves the CSR after the checks, "" if it must not be approved.
func (r Review) Command() report.Remedy {
	if r.Problem() != "" {
		return ""
	}
	check := " # if join on the host prints this key"
	if r.IsServing() {
		check = " # if the host has the addresses"
	}
	return report.Remedy("hcp-node-admin approve " + r.Node + " --fingerprint " + r.Key + check)
}
