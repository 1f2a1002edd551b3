// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/identity"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/steps"
)

// certificateFacts contains the facts about kubelet's certificates.
type certificateFacts struct {
	Client, Serving *identity.Certificate // nil if there is none
	RequiresClient  bool                  // a client certificate must exist
	Foreign         error                 // nil if kubelet's identity is this node's
	Now             time.Time
	clientErr       error
}

func inspectCertificates(_ context.Context, d *diagnostics) ([]report.Finding, error) {
	f := certificateFacts{RequiresClient: d.run.State.HasCompleted(steps.ClientCertificate), Now: d.now}
	var servingErr error
	f.Client, f.clientErr = identity.ReadCertificate(identity.ClientCertificatePath(identity.PKIDirectory))
	f.Serving, servingErr = identity.ReadCertificate(identity.ServingCertificatePath(identity.PKIDirectory))
	if d.run.State.APIServer != "" && d.host.Facts.Root {
		_, f.Foreign = d.ownIdentity(nil).Check()
	}
	return f.evaluate(), cmp.Or(f.clientErr, servingErr)
}

// ownIdentity returns the identity that the join has obtained, or will obtain, for this node. The saved payload, which
// can be nil, contains the bootstrap credential.
func (d *diagnostics) ownIdentity(saved *ignition.Payload) *identity.Identity {
	return d.session().Identity(cmp.Or(saved, &ignition.Payload{}), report.Log{}, nil)
}

// evaluate returns the findings. The section about the serving certificate reports one of another name or address.
func (f certificateFacts) evaluate() []report.Finding {
	const rejoin = "hcp-node-agent join --user-data USER_DATA # with current user data; requests a new certificate"
	const approve = "oc get csr --field-selector spec.signerName=kubernetes.io/kubelet-serving # then: oc adm " +
		"certificate approve NAME for this node's newest CSR"
	var findings []report.Finding
	if f.Foreign != nil {
		foreign := problem(report.RemedyOf(f.Foreign), "%s", f.Foreign)
		foreign.Reason = otherIdentity
		findings = append(findings, foreign)
	}
	switch {
	case f.Client != nil:
		found := f.validityFinding("client", *f.Client, rejoin)
		if f.Now.After(f.Client.NotAfter) {
			found.Reason = certificateUnusable
		}
		findings = append(findings, found)
	case f.RequiresClient && f.clientErr == nil:
		missing := problem(rejoin, "kubelet has no client certificate and cannot connect to the API server")
		missing.Reason = certificateUnusable
		findings = append(findings, missing)
	}
	if f.Serving != nil {
		findings = append(findings, f.validityFinding("serving", *f.Serving, approve))
	}
	return findings
}

// validityFinding reports the subject and validity of a certificate, and whether it
// must be renewed.
func (f certificateFacts) validityFinding(kind string, c identity.Certificate, renew report.Remedy) report.Finding {
	subject := fmt.Sprintf("kubelet's %s certificate of %s", kind, c.Subject)
	until := c.NotAfter.Format(time.RFC3339)
	switch {
	case f.Now.After(c.NotAfter):
		return problem(renew, "%s expired on %s", subject, until)
	case f.Now.Before(c.NotBefore):
		return problem("chronyc makestep # or: timedatectl set-ntp true",
			"%s is not valid before %s, but this host's clock shows %s",
			subject, c.NotBefore.Format(time.RFC3339), f.Now.UTC().Format(time.RFC3339))
	case c.RenewalOverdue(f.Now):
		return warning("journalctl -b -u kubelet; oc get csr # shows whether a CSR is pending",
			"%s expires on %s; kubelet should have renewed it", subject, until)
	}
	return passed("%s is valid until %s", subject, until)
}

func inspectRequest(ctx context.Context, d *diagnostics) ([]report.Finding, error) {
	if d.run.State.NodeName == "" {
		return nil, nil
	}
	client, err := identity.ReadCertificate(identity.ClientCertificatePath(identity.PKIDirectory))
	if err != nil || client != nil && d.now.Before(client.NotAfter) {
		return nil, nil //nolint:nilerr // reported by the section for certificates
	}
	saved, err := d.run.SavedPayload().Get(ctx, report.Log{})
	if err != nil {
		return nil, err
	}
	pending, err := d.ownIdentity(saved).FindPendingCSR(ctx)
	if pending == nil {
		return nil, err
	}
	return []report.Finding{requestFinding(*pending, err, d.run.State.Topology(), d.now)}, nil
}

// requestFinding returns a finding about the client CSR of a node that has no certificate yet. err is the reason why
// the cluster could not be queried.
func requestFinding(
	csr identity.PendingCSR, err error, topology identity.ClusterTopology, now time.Time,
) report.Finding {
	request := fmt.Sprintf("client CSR %s (key %s)", csr.Name, csr.Fingerprint)
	age := report.FormatAge(now.Sub(csr.Since))
	switch csr.Phase {
	case "pending":
		return problem(report.Remedyf("oc adm certificate approve %s # %s; then: hcp-node-agent join",
			csr.Name, topology.CommandLocation()), "%s has been waiting for approval for %s; %s",
			request, age, topology.ManualApprovalHint())
	case "approved":
		return problem(topology.SignerRemedy(),
			"%s was submitted %s ago and is approved, but no certificate has been issued", request, age)
	case "issued":
		return problem("hcp-node-agent join # downloads the certificate",
			"a certificate was issued for %s, but is not on this host yet", request)
	case "absent":
		return problem("hcp-node-agent join # submits the CSR again", "%s does not exist in the cluster: it was "+
			"deleted manually, or automatically after a day without approval", request)
	case "":
		return warning(report.RemedyOf(err), "the status of %s is unknown: %s", request, err)
	}
	return problem(report.Remedyf("oc get csr %s -o yaml # shows the cause; hcp-node-agent join submits a new CSR "+
		"with a new key", csr.Name), "%s is %s (%s)", request, csr.Phase, csr.Detail)
}
