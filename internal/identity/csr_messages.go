// SPDX-License-Identifier: Apache-2.0

package identity

import (
	"crypto/x509"
	"fmt"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/hcp-node-agent/hcp-node-agent/internal/enrollment"
	"github.com/hcp-node-agent/hcp-node-agent/internal/kube"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

func (r *csrRequester) pendingText(found *kube.CSR) string {
	return fmt.Sprintf("waiting for approval of client CSR %s for %s (key %s, signer %s, created at %s%s)",
		r.desired.Name, nodeUser(r.identity.NodeName), fingerprint(&r.key.private.PublicKey),
		r.desired.Spec.SignerName, report.Timestamp(found.CreationTimestamp.Time),
		waitingSinceText(found.CreationTimestamp.Time, r.key.createdAt))
}

// approvalRemedy returns how an administrator approves the CSR, and why.
func (r *csrRequester) approvalRemedy() report.Remedy {
	if len(r.desired.Annotations) == 0 {
		return report.Remedyf("# the key of this node is %s\n%s", fingerprint(&r.key.private.PublicKey),
			r.identity.Topology.approvalRemedy(r.desired.Name))
	}
	proof := "the proof of this node's join token"
	if r.desired.Annotations[enrollment.AnnotationCertificate] != "" {
		proof = "this node's expired certificate"
	}
	return report.Remedyf("# the CSR contains %s: the controller with the matching NodeEnrollment approves it "+
		"automatically; if it does not, run %s:\n"+
		"hcp-node-admin approve %s # prints why it is not approved\n"+
		"oc adm certificate approve %s # or approve this CSR manually",
		proof, r.identity.Topology.CommandLocation(), r.identity.NodeName, r.desired.Name)
}

// ownApprovalText returns the message while the agent approves a CSR of its own
// node, for which the administrator has nothing to do.
func ownApprovalText(csr, fingerprint string) string {
	return "waiting for approval of CSR " + csr + " (key " + fingerprint + ") with the kubeconfig of --approve-with"
}

// pendingCSRLifetime is how long a CSR may be pending until the cluster deletes it
// (pendingExpiration in k8s.io/kubernetes/pkg/controller/certificates/cleaner,
// which runs once an hour).
const pendingCSRLifetime = 24 * time.Hour

// deletedText explains why a CSR no longer exists and that it is submitted again.
// submitted is the creation time of the deleted CSR, since the creation time of its
// key, now the server's time.
func deletedText(name string, before phase, submitted, since, now time.Time) string {
	again := "submitting it again with the same key, waiting since " + report.Timestamp(since)
	switch {
	case before == phaseApproved:
		return fmt.Sprintf("client CSR %s was deleted after it was approved and before a certificate was issued; %s",
			name, again)
	case before == phasePending && now.Sub(submitted) >= pendingCSRLifetime:
		return fmt.Sprintf("client CSR %s of %s was not approved for a day, and the cluster deleted it, as it "+
			"does with all unapproved CSRs; %s", name, report.Timestamp(submitted), again)
	}
	return fmt.Sprintf("client CSR %s was deleted before it was approved; %s", name, again)
}

// waitingSinceText returns a clause about the start of the wait, for a CSR that is not
// the first of its key.
func waitingSinceText(submitted, since time.Time) string {
	if submitted.Sub(since) < time.Minute {
		return ""
	}
	return ", waiting since " + report.Timestamp(since)
}

// explainRejection returns err with an explanation if the API server rejected the
// bootstrap credential.
func (r *csrRequester) explainRejection(err error) error {
	certificate, fresh := r.bootstrapCertificate, r.identity.Topology.newCredentialRemedy()
	anonymous := apierrors.IsForbidden(err) && strings.Contains(err.Error(), "system:anonymous")
	switch now := r.conn.Clock.Now(); {
	case !apierrors.IsUnauthorized(err) && !apierrors.IsForbidden(err):
		return err
	case certificate != nil && now.After(certificate.NotAfter):
		return report.Fail(report.CredentialRefused, fresh,
			"the bootstrap credential expired at %s; the API server's clock shows %s%s: %w",
			report.Timestamp(certificate.NotAfter), report.Timestamp(now), r.conn.Clock.SkewNote(time.Now()), err)
	case certificate != nil && now.Before(certificate.NotBefore):
		return report.Fail(report.CredentialRefused, fresh,
			"the bootstrap credential is not valid before %s; the API server's clock shows %s%s: %w",
			report.Timestamp(certificate.NotBefore), report.Timestamp(now), r.conn.Clock.SkewNote(time.Now()), err)
	case apierrors.IsUnauthorized(err), anonymous:
		return report.Fail(report.CredentialRefused, fresh,
			"the API server rejects the bootstrap credential%s: %w",
			describeCredential(certificate), err)
	}
	return report.Fail(report.CredentialRefused,
		"oc create clusterrolebinding create-csrs-for-bootstrapping --clusterrole=system:node-bootstrapper "+
			"--serviceaccount=openshift-machine-config-operator:node-bootstrapper",
		"the bootstrap credential has no permission to request certificates: %w", err)
}

func describeCredential(certificate *x509.Certificate) string {
	if certificate == nil {
		return ""
	}
	return fmt.Sprintf(" (issued by %q, valid until %s): its signer was replaced, or it belongs to another cluster",
		certificate.Issuer, report.Timestamp(certificate.NotAfter))
}

// ClusterTopology is the kind of cluster that a node belongs to. It determines the
// wording of messages. The zero value is a hosted cluster's NodePool of
// platform None.
type ClusterTopology struct{ Standalone bool }

// ManualApprovalHint returns a clause that states why no controller approves a CSR. On a
// standalone cluster the machine approver identifies hosts by their Machine
// objects (cluster-machine-approver), and no controller creates a Machine for a
// host like this.
func (t ClusterTopology) ManualApprovalHint() string {
	if t.Standalone {
		return "this host has no Machine object, so no controller approves it"
	}
	return "on platform None no controller approves it"
}

// approvalRemedy returns how an administrator approves a CSR, and why.
func (t ClusterTopology) approvalRemedy(csr string) report.Remedy {
	return report.Remedyf("# %s; run %s:\noc adm certificate approve %s", t.ManualApprovalHint(), t.CommandLocation(), csr)
}

// CommandLocation returns where an administrator runs commands.
func (t ClusterTopology) CommandLocation() string {
	if t.Standalone {
		return "on the cluster"
	}
	return "on the hosted cluster"
}

// SignerRemedy returns the remedy for an approved CSR that is not issued.
func (t ClusterTopology) SignerRemedy() report.Remedy {
	if t.Standalone {
		return "oc get clusteroperator kube-controller-manager # its csrsigning controller"
	}
	return "# check the csrsigning controller in the hosted control plane's kube-controller-manager"
}

// newCredentialRemedy returns the remedy that provides a new bootstrap credential.
func (t ClusterTopology) newCredentialRemedy() report.Remedy {
	if t.Standalone {
		return "# join again with --user-data or --endpoint: the machine-config server provides the current " +
			"bootstrap credential"
	}
	return "# run join again with current user data: its payload contains a new bootstrap credential"
}
