// SPDX-License-Identifier: Apache-2.0

package identity

import (
	"context"
	"crypto/x509"
	"fmt"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/kube"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// Renewal describes the renewal of a certificate. It is empty if nothing needs
// attention. kubelet requests the next certificate between 70 and 90 percent of
// a certificate's lifetime (nextRotationDeadline in
// k8s.io/client-go/util/certificate).
type Renewal struct {
	CSR    string // a CSR that waits for approval; "" if there is none
	Text   string // "" if nothing needs attention
	Remedy report.Remedy
}

// Fractions of a certificate's lifetime.
const (
	earliestRenewal = 0.7
	latestRenewal   = 0.9
)

// elapsedFraction returns the elapsed fraction of a certificate's lifetime. It exceeds 1
// after the expiry.
func elapsedFraction(from, until, now time.Time) float64 {
	return float64(now.Sub(from)) / float64(until.Sub(from))
}

// CheckRenewal checks the renewal of the client certificate. On a hosted cluster the
// controller manager approves its CSR automatically, so only an overdue renewal
// is reported. It reads only local files.
func (i *Identity) CheckRenewal(now time.Time) Renewal {
	leaf := readLeaf(i.clientCertificatePath())
	if leaf == nil || elapsedFraction(leaf.NotBefore, leaf.NotAfter, now) < latestRenewal {
		return Renewal{}
	}
	if now.After(leaf.NotAfter) { // for example after an outage: kubelet cannot renew it any more
		return Renewal{
			Text: fmt.Sprintf("kubelet's client certificate expired at %s, so the API server rejects Node %s",
				report.Timestamp(leaf.NotAfter), i.NodeName),
			Remedy: "hcp-node-agent join --user-data USER_DATA # with current user data, when the API server is reachable",
		}
	}
	return overdueRenewal("client", leaf, "Node "+i.NodeName+" will lose its connection to the cluster then")
}

// CheckRenewal checks the renewal of the serving certificate. On platform None no
// controller approves its CSR, and the current certificate still works, so a
// pending CSR is easily overlooked. The API server is queried only if kubelet
// may already have submitted the CSR.
func (s *Serving) CheckRenewal(ctx context.Context) (Renewal, error) {
	leaf := readLeaf(ServingCertificatePath(s.Dir))
	if leaf == nil || elapsedFraction(leaf.NotBefore, leaf.NotAfter, time.Now()) < earliestRenewal {
		return Renewal{}, nil
	}
	found, err := s.listCSRs(ctx)
	if err != nil {
		return Renewal{}, err
	}
	return s.renewalStatus(leaf, found, time.Now()), nil
}

// listCSRs lists the serving CSRs of this node.
func (s *Serving) listCSRs(ctx context.Context) (found map[string]*kube.CSR, err error) {
	err = s.Conn.Retry(ctx, s.Log, "listing CSRs for the next serving certificate", func() (err error) {
		found, _, err = s.source().ListAll(ctx)
		return err
	})
	return found, err
}

// checkInitial describes what a node without a valid serving certificate waits for. It
// is empty if the certificate is valid.
func (s *Serving) checkInitial(ctx context.Context) (Renewal, error) {
	if s.Check() == Valid {
		return Renewal{}, nil
	}
	found, err := s.listCSRs(ctx)
	if err != nil {
		return Renewal{}, err
	}
	return s.initialStatus(found), nil
}

// ServingSubject is the subject of findings about the serving certificate.
const ServingSubject = "serving certificate"

// Findings returns a finding with the reason why kubelet has no serving certificate for this host. On platform None no
// controller approves its CSR, which kubelet submits if it has no certificate or if the host's address changes.
func (s *Serving) Findings(ctx context.Context) []report.Finding {
	initial, err := s.checkInitial(ctx)
	switch {
	case err != nil:
		initial.Text, initial.Remedy = "checking its CSR: "+err.Error(), report.RemedyOf(err)
	case initial.Text == "":
		return nil
	}
	return []report.Finding{{
		Severity: report.SeverityProblem,
		Reason:   report.ServingCertificateMissing,
		Subject:  ServingSubject,
		Message: "kubelet has no serving certificate for the current name and addresses of this host, so oc logs and " +
			"oc exec fail for its pods: " + initial.Text,
		Remedy: initial.Remedy,
	}}
}

func (s *Serving) initialStatus(found map[string]*kube.CSR) Renewal {
	choice := s.selectCSR(found)
	switch csr := choice.csr; {
	case csr != nil && len(csr.Status.Conditions) == 0:
		return Renewal{
			CSR: csr.Name, Text: "it is " + servingApprovalText(csr),
			Remedy: s.Topology.approvalRemedy(csr.Name),
		}
	case csr != nil:
		condition := csr.Status.Conditions[0]
		return Renewal{
			Text: fmt.Sprintf("its CSR %s is %s (%s: %s), and kubelet has not received a certificate", csr.Name,
				condition.Type, condition.Reason, condition.Message),
			Remedy: "systemctl restart kubelet # kubelet requests a new certificate",
		}
	case choice.rejected != nil:
		return *choice.rejected
	}
	return Renewal{Text: noServingCSRText, Remedy: "journalctl -b -u kubelet"}
}

// renewalStatus returns the status of the renewal, from the current certificate leaf
// and the CSRs.
func (s *Serving) renewalStatus(leaf *x509.Certificate, found map[string]*kube.CSR, now time.Time) Renewal {
	choice := s.selectCSR(found)
	expires := "kubelet's serving certificate expires at " + report.Timestamp(leaf.NotAfter) + "; "
	switch csr := choice.csr; {
	case csr != nil && len(csr.Status.Conditions) == 0:
		return Renewal{
			CSR:    csr.Name,
			Text:   expires + "kubelet is " + servingApprovalText(csr),
			Remedy: s.Topology.approvalRemedy(csr.Name),
		}
	case choice.rejected != nil:
		return Renewal{Text: expires + choice.rejected.Text, Remedy: choice.rejected.Remedy}
	case elapsedFraction(leaf.NotBefore, leaf.NotAfter, now) >= latestRenewal:
		return overdueRenewal("serving", leaf, "logs, exec and metrics of this node will fail then")
	}
	return Renewal{}
}

func overdueRenewal(kind string, leaf *x509.Certificate, then string) Renewal {
	return Renewal{
		Text: fmt.Sprintf("kubelet's %s certificate expires at %s, and kubelet has not received the next one; %s", kind,
			report.Timestamp(leaf.NotAfter), then),
		Remedy: "oc get csr; journalctl -u kubelet -b | grep -i certificate",
	}
}

// handleRenewal logs a renewal that needs attention, or passes its CSR to approve. The
// current certificate is still valid, so neither is an error.
func (s *Serving) handleRenewal(ctx context.Context, approve Approver) error {
	renewal, err := s.CheckRenewal(ctx)
	switch {
	case err != nil:
		s.Log.Warn("kubelet's serving certificate expires soon, and the CSR for the next one cannot be read: "+
			err.Error(), report.RemedyOf(err))
	case renewal.CSR != "" && approve != nil:
		return approve(ctx, ApprovalRequest{Name: renewal.CSR})
	case renewal.Text != "":
		s.Log.Warn(renewal.Text, renewal.Remedy)
	}
	return nil
}
