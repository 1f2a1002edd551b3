// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/identity"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition"
	"github.com/hcp-node-agent/hcp-node-agent/internal/joinstate"
	"github.com/hcp-node-agent/hcp-node-agent/internal/machine"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/steps"
)

// certificateFacts contains the facts about kubelet's certificates.
type certificateFacts struct {
	Client, Serving       *identity.Certificate // nil if there is none
	RequiresClient        bool                  // a client certificate must exist
	Foreign               error                 // nil if kubelet's identity is this node's
	Fits                  identity.State        // state of the serving certificate
	Now                   time.Time
	clientErr, servingErr error
}

func inspectCertificates(ctx context.Context, d *diagnostics) ([]report.Finding, error) {
	if !d.hasStarted() {
		return nil, nil
	}
	f := certificateFacts{RequiresClient: d.State.HasCompleted(steps.ClientCertificate), Now: d.now}
	f.Client, f.clientErr = identity.ReadCertificate(identity.ClientCertificatePath(identity.PKIDirectory))
	f.Serving, f.servingErr = identity.ReadCertificate(identity.ServingCertificatePath(identity.PKIDirectory))
	if d.State.APIServer != "" && d.Facts.Root {
		_, f.Foreign = d.identityFor(nil).Check()
	}
	addresses, err := machine.Addresses()
	f.Fits = (&identity.Serving{NodeName: d.State.NodeName, Dir: identity.PKIDirectory, Addresses: addresses}).Check()
	for _, unread := range []error{f.clientErr, f.servingErr} {
		if err == nil {
			err = unread
		}
	}
	return f.evaluate(), err
}

// identityFor returns the identity that the join has obtained, or will obtain, for
// this node.
func (d *diagnostics) identityFor(bootstrap []byte) *identity.Identity {
	return &identity.Identity{
		Dir:                 identity.PKIDirectory,
		Kubeconfig:          identity.KubeconfigPath,
		BootstrapKubeconfig: bootstrap,
		NodeName:            d.State.NodeName,
		Server:              d.State.APIServer,
		CA:                  d.State.APIServerCA,
		KeyDir:              filepath.Join(d.Dir, joinstate.KeyDir),
	}
}

func (f certificateFacts) evaluate() []report.Finding {
	const rejoin = "hcp-node-agent join --user-data USER_DATA # with current user data; requests a new certificate"
	var findings []report.Finding
	if f.Foreign != nil {
		findings = append(
			findings,
			report.Finding{Severity: report.SeverityProblem, Message: f.Foreign.Error(), Remedy: report.RemedyOf(f.Foreign)},
		)
	}
	switch {
	case f.Client != nil:
		findings = append(findings, f.validityFinding("client", *f.Client, rejoin))
	case f.RequiresClient && f.clientErr == nil:
		findings = append(findings, report.Finding{Severity: report.SeverityProblem, Message: "kubelet has no " +
			"client certificate and cannot connect to the API server", Remedy: rejoin})
	}
	const approve = "oc get csr --field-selector spec.signerName=kubernetes.io/kubelet-serving # then: oc adm " +
		"certificate approve NAME for this node's newest CSR"
	switch {
	case f.Serving != nil && f.Fits == identity.Missing:
		findings = append(findings, report.Finding{
			Severity: report.SeverityProblem, Message: fmt.Sprintf("kubelet's serving certificate is for %v, "+
				"which do not match this node's name and addresses", f.Serving.Names),
			Remedy: "systemctl restart kubelet # kubelet requests a new certificate\n" + approve,
		})
	case f.Serving != nil:
		findings = append(findings, f.validityFinding("serving", *f.Serving, approve))
	}
	return findings
}

// validityFinding reports the subject and validity of a certificate, and whether it
// must be renewed.
func (f certificateFacts) validityFinding(kind string, c identity.Certificate, renew string) report.Finding {
	whose := fmt.Sprintf("kubelet's %s certificate of %s", kind, c.Subject)
	until := c.NotAfter.Format(time.RFC3339)
	switch {
	case f.Now.After(c.NotAfter):
		return report.Finding{Severity: report.SeverityProblem, Message: whose + " expired on " +
			until, Remedy: report.Remedy(renew)}
	case f.Now.Before(c.NotBefore):
		return report.Finding{
			Severity: report.SeverityProblem, Message: fmt.Sprintf("%s is not valid before %s, but this host's "+
				"clock shows %s", whose, c.NotBefore.Format(time.RFC3339), f.Now.UTC().Format(time.RFC3339)),
			Remedy: "chronyc makestep # or: timedatectl set-ntp true",
		}
	case c.RenewalOverdue(f.Now):
		return report.Finding{
			Severity: report.SeverityWarning, Message: whose + " expires on " + until + "; kubelet should have " +
				"renewed it",
			Remedy: "journalctl -b -u kubelet; oc get csr # shows whether a CSR is pending",
		}
	}
	return report.Finding{Severity: report.SeverityOK, Message: whose + " is valid until " + until}
}

// requestFacts describes the client CSR of a node that has no certificate yet.
type requestFacts struct {
	Pending *identity.PendingCSR // nil if this host has submitted none
	Err     error                // why the cluster could not be queried
	Now     time.Time
	Place   identity.ClusterTopology
}

func inspectRequest(ctx context.Context, d *diagnostics) ([]report.Finding, error) {
	if !d.hasStarted() || d.State.NodeName == "" {
		return nil, nil
	}
	if client, err := identity.ReadCertificate(
		identity.ClientCertificatePath(identity.PKIDirectory),
	); err != nil || client != nil && d.now.Before(client.NotAfter) {
		return nil, nil //nolint:nilerr // reported by the section for certificates
	}
	bootstrap, err := d.bootstrapCredential(ctx)
	if err != nil {
		return nil, err
	}
	f := requestFacts{Now: d.now, Place: d.State.Topology()}
	f.Pending, f.Err = d.identityFor(bootstrap).FindPendingCSR(ctx)
	if f.Pending == nil {
		return nil, f.Err
	}
	return f.evaluate(), nil
}

// bootstrapCredential returns the kubeconfig of the saved payload that can request
// the node's client certificate, or nil if it was removed.
func (d *diagnostics) bootstrapCredential(ctx context.Context) ([]byte, error) {
	payload, err := d.SavedPayload().Get(ctx, report.Log{})
	if err != nil || payload == nil {
		return nil, err
	}
	content, _, _ := payload.File(ignition.BootstrapKubeconfigPath)
	return content, nil
}

func (f requestFacts) evaluate() []report.Finding {
	request := fmt.Sprintf("client CSR %s (key %s)", f.Pending.Name, f.Pending.Fingerprint)
	approve := "oc adm certificate approve " + f.Pending.Name
	finding := report.Finding{Severity: report.SeverityProblem}
	switch f.Pending.Phase {
	case "pending":
		finding.Message = fmt.Sprintf(
			"%s has been waiting for approval for %s; %s",
			request,
			report.FormatAge(f.Now.Sub(f.Pending.Since)),
			f.Place.ManualApprovalHint(),
		)
		finding.Remedy = report.Remedy(approve + " # " + f.Place.CommandLocation() + "; then: hcp-node-agent join")
	case "approved":
		finding.Message = fmt.Sprintf(
			"%s was submitted %s ago and is approved, but no certificate has been issued",
			request,
			report.FormatAge(f.Now.Sub(f.Pending.Since)),
		)
		finding.Remedy = f.Place.SignerRemedy()
	case "issued":
		finding.Message = "a certificate was issued for " + request + ", but is not on this host yet"
		finding.Remedy = "hcp-node-agent join # downloads the certificate"
	case "absent":
		finding.Message = request + " does not exist in the cluster: it was deleted manually, or automatically " +
			"after a day without approval"
		finding.Remedy = "hcp-node-agent join # submits the CSR again"
	case "":
		finding.Severity = report.SeverityWarning
		finding.Message = "the status of " + request + " is unknown: " + f.Err.Error()
		finding.Remedy = report.RemedyOf(f.Err)
	default:
		finding.Message = fmt.Sprintf("%s is %s (%s)", request, f.Pending.Phase, f.Pending.Detail)
		finding.Remedy = report.Remedy("oc get csr " + f.Pending.Name + " -o yaml # shows the cause; " +
			"hcp-node-agent join submits a new CSR with a new key")
	}
	return []report.Finding{finding}
}
