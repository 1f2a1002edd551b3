// SPDX-License-Identifier: Apache-2.0

package approver

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// CheckFingerprint checks the format of a fingerprint.
func CheckFingerprint(text string) error {
	if !regexp.MustCompile(`^SHA256:[0-9a-f]{64}$`).MatchString(text) {
		return fmt.Errorf("%q is not a fingerprint: expected the value that join prints, SHA256: and 64 "+
			"hexadecimal digits", truncate(text))
	}
	return nil
}

// Confirm returns the CSRs of a node that a person has confirmed by the fingerprint of their key: those that are to be
// approved, or else those that are approved already. It fails if there are none.
//
// Any user who can read a CSR can submit copies of it, with another name or other usages. All copies without a problem
// are approved: which of them the node waits for is unknown, and a certificate is useless without the private key.
func Confirm(all []Review, node, fingerprint string) ([]Review, error) {
	var confirmed, approved []Review
	var refusal error
	var others []string // keys of other pending CSRs
	for _, one := range all {
		isApproved := one.State == CSRApproved || one.State == CSRIssued
		switch problem := one.Problem(); {
		case one.Key != fingerprint:
			if one.State == CSRPending && one.Key != "" {
				others = append(others, one.Key)
			}
		case isApproved:
			approved = append(approved, one)
		case one.State != CSRPending:
			refusal = report.Fail(report.ApprovalMissing, "# run join again on the node: it submits a new CSR",
				"CSR %s is already %s (%s)", DisplayName(one.Name), one.State, one.Reason)
		case problem != "":
			refusal = report.Fail(report.ApprovalMissing, one.refusalRemedy(), "CSR %s must not be approved: %s",
				DisplayName(one.Name), problem)
		default:
			confirmed = append(confirmed, one)
		}
	}
	switch {
	case len(confirmed) > 0:
		return confirmed, checkSameAddresses(slices.Concat(confirmed, approved))
	case len(approved) > 0:
		return approved, nil
	case refusal != nil:
		return nil, refusal
	}
	message := fmt.Sprintf("no CSR of %s has the key %s", node, fingerprint)
	if len(others) > 0 {
		slices.Sort(others)
		message += "; pending CSRs have the keys " + strings.Join(slices.Compact(others), " and ")
	}
	return nil, report.Fail(report.ApprovalMissing, report.Remedyf("hcp-node-admin approve %s # prints the pending CSRs",
		node), "%s", message)
}

// refusalRemedy returns the remedy of the first problem, or the command that prints the CSR.
func (r Review) refusalRemedy() report.Remedy {
	for _, finding := range r.Findings {
		if finding.Severity == report.SeverityProblem && finding.Remedy != "" {
			return finding.Remedy
		}
	}
	return report.Remedy(CommandFor("oc get csr ", r.Name, " -o yaml"))
}

// checkSameAddresses fails if CSRs with one key contain different addresses: the node may have submitted one of them
// after the other was checked.
func checkSameAddresses(all []Review) error {
	for _, one := range all {
		if !slices.Equal(one.Addresses, all[0].Addresses) || one.IsServing() != all[0].IsServing() {
			return report.Fail(report.ApprovalMissing, "oc get csr # shows who has submitted them",
				"CSRs %s and %s have the same key, but different addresses: none of them is approved",
				DisplayName(all[0].Name), DisplayName(one.Name))
		}
	}
	return nil
}
