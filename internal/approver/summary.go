// SPDX-License-Identifier: Apache-2.0

package approver

import (
	"slices"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"

	"github.com/hcp-node-agent/hcp-node-agent/internal/kube"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/schema"
)

// CSRState is the state of a CSR in one word.
type CSRState string

// States of a CSR.
const (
	CSRPending  CSRState = "Pending"
	CSRApproved CSRState = "Approved" // the certificate is not issued yet
	CSRIssued   CSRState = "Issued"
	CSRDenied   CSRState = "Denied"
	CSRFailed   CSRState = "Failed"
)

// Enum returns all states.
func (CSRState) Enum() []string {
	return schema.Strings(CSRPending, CSRApproved, CSRIssued, CSRDenied, CSRFailed)
}

// CSRSummary describes a CSR of a node for people. The requestor has chosen its texts.
type CSRSummary struct {
	Name      string    `json:"name" doc:"name of the CSR"`
	Signer    string    `json:"signer" doc:"signer of the certificate"`
	Requestor string    `json:"requestor" doc:"user who submitted the CSR"`
	State     CSRState  `json:"state" doc:"state of the CSR"`
	Reason    string    `json:"reason,omitempty" doc:"reason of the approval, denial or failure"`
	Created   time.Time `json:"created" doc:"time at which the CSR was submitted"`
	Key       string    `json:"key,omitempty" doc:"fingerprint of its public key; absent if the request is invalid"`
	Addresses []string  `json:"addresses,omitempty" doc:"addresses that the certificate would contain"`
}

// IsServing reports whether the CSR is for a serving certificate.
func (s CSRSummary) IsServing() bool { return s.Signer == certificatesv1.KubeletServingSignerName }

// Maximum lengths of reported texts, parts of which are chosen by the requestor.
const (
	maxNodeNameLength = 253 // of a Node name
	maxReasonLength   = 1000
)

// Summarize returns the summary of a CSR.
func Summarize(csr *kube.CSR) CSRSummary {
	request := ParseCSR(csr)
	summary := CSRSummary{
		Name: report.Shorten(csr.Name, maxNodeNameLength), Signer: csr.Spec.SignerName,
		Requestor: report.Shorten(csr.Spec.Username, maxNodeNameLength),
		State:     CSRPending, Created: csr.CreationTimestamp.UTC(), Key: request.Fingerprint,
	}
	const maxAddresses = 64
	for _, address := range request.Addresses[:min(len(request.Addresses), maxAddresses)] {
		summary.Addresses = append(summary.Addresses, address.String())
	}
	for _, condition := range csr.Status.Conditions {
		summary.State, summary.Reason = CSRState(condition.Type), truncate(condition.Reason)
	}
	if len(csr.Status.Certificate) > 0 {
		summary.State = CSRIssued
	}
	return summary
}

// PendingCSRs returns the CSRs of a list that are pending.
func PendingCSRs(all []CSRSummary) []CSRSummary {
	return slices.DeleteFunc(slices.Clone(all), func(csr CSRSummary) bool { return csr.State != CSRPending })
}
