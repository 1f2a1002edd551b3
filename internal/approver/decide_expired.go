// SPDX-License-Identifier: Apache-2.0

package approver

import (
	"crypto/x509"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/hcp-node-agent/hcp-node-agent/internal/enrollment"
	"github.com/hcp-node-agent/hcp-node-agent/internal/kube"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

const (
	// maxExpiredAge is how long after its expiry a client certificate identifies its node.
	maxExpiredAge = 365 * 24 * time.Hour
	// maxClockSkew is the accepted difference between the clocks of the node, which sets the times of
	// its reports, of the API server, which sets the creation time of the Node, and of the signer.
	maxClockSkew = 10 * time.Minute
	// maxRegistrationDelay is the accepted time between the issue of a node's first client
	// certificate and the creation of its Node. Kubelet needs seconds, but a join can be interrupted.
	maxRegistrationDelay = 24 * time.Hour
)

// NodeState is the state of the Node that a client CSR is for.
type NodeState struct {
	Exists     bool
	IsReady    bool
	Created    time.Time // by the clock of the API server
	LastReport time.Time // of its kubelet, by the clock of the node; zero if there was none
}

// StateOf returns the state of a Node.
func StateOf(node *corev1.Node) *NodeState {
	state := &NodeState{Exists: true, IsReady: kube.IsReady(node), Created: node.CreationTimestamp.Time}
	if ready := kube.NodeCondition(node, corev1.NodeReady); ready != nil {
		state.LastReport = ready.LastHeartbeatTime.Time // kubelet's, even if the Node is Unknown
	}
	return state
}

// decideExpired decides on a client CSR that contains the node's previous client certificate. The
// CSR has the key of that certificate. The node was off while the certificate expired, so its
// Node still exists, and its join token has been used.
//
// Any bootstrapper can read such a CSR and submit it again. The result is a certificate for the
// same key, which is useless without the private key.
func decideExpired(csr *kube.CSR, request Content, enrollments Enrollments, facts Facts) Decision {
	d := Decision{Outcome: Refused, Node: request.Node, Key: request.Fingerprint}
	record := enrollments[d.Node]
	if record == nil {
		return decideWithoutEnrollment(d, "", enrollments)
	}
	if !facts.hasUsed(record) {
		d.Reason = "it contains a client certificate, but no join token of " + d.Node + " was used in this cluster"
		return d
	}
	if request.Invalid != nil {
		d.Reason = request.Invalid.Error()
		return d
	}
	certificate, err := checkPreviousCertificate(csr, request, facts.Now)
	switch {
	case err != nil:
		d.Reason = err.Error()
		return d
	case facts.ClientCAsError != nil:
		d.Outcome, d.Remedy = Ignored, report.RemedyOf(facts.ClientCAsError)
		d.Reason = "its client certificate cannot be verified: " + facts.ClientCAsError.Error()
		return d
	case facts.ClientCAs == nil: // would select the CAs of this host
		d.Outcome, d.Reason = Ignored, "its client certificate cannot be verified: the client CAs are unknown"
		return d
	case facts.Node == nil:
		d.Outcome, d.Reason = Ignored, unknownNode(d.Node)
		return d
	}
	err = checkIssuer(certificate, facts.ClientCAs)
	if err == nil {
		err = ExpectedNode{NodeName: d.Node, PublicKey: request.PublicKey}.CheckClient(csr)
	}
	if err == nil {
		err = enrollment.CheckCSRName(csr.Name, d.Node, request.PublicKey, csr.Annotations)
	}
	if err != nil {
		d.Reason, d.Remedy = err.Error(), report.RemedyOf(err)
		return d
	}
	if d.Reason, d.Remedy = facts.Node.explainAnotherNode(d.Node, certificate); d.Reason != "" {
		return d
	}
	// A Node that "enroll --reinstall allow" keeps is older than its present machine.
	if used := facts.UsedAt[record.ID]; certificate.NotBefore.Before(used.Add(-maxClockSkew)) {
		d.Reason = "its client certificate is valid since " + report.Timestamp(certificate.NotBefore) +
			", before the present machine of node " + d.Node + " used its join token at " + report.Timestamp(used)
		return d
	}
	d.Outcome, d.Enrollment = Approved, record
	d.Reason = "it has the key of the node's previous client certificate, which was valid until " +
		report.Timestamp(certificate.NotAfter)
	return d
}

// checkPreviousCertificate returns the certificate in a CSR's annotation. It fails unless the
// certificate is a client certificate of the node with the key of the CSR, and has expired less
// than maxExpiredAge ago. It does not verify the issuer.
func checkPreviousCertificate(csr *kube.CSR, request Content, now time.Time) (*x509.Certificate, error) {
	certificate, err := enrollment.ParseCertificate(csr.Annotations[enrollment.AnnotationCertificate])
	if err != nil {
		return nil, err
	}
	switch {
	case !enrollment.SamePublicKey(request.PublicKey, certificate.PublicKey):
		return nil, refuse("certificate", "another key", "the key of the CSR")
	case !isNodeSubject(certificate.Subject, request.Node):
		return nil, refuse("certificate", quoted(certificate.Subject), subjectText(request.Node))
	case !slices.Contains(certificate.ExtKeyUsage, x509.ExtKeyUsageClientAuth):
		return nil, refuse("certificate", "other extended key usages", "client auth")
	case !now.After(certificate.NotAfter):
		// With a certificate that is valid, kubelet requests the next one as the node itself.
		return nil, refuse("certificate", "valid until "+report.Timestamp(certificate.NotAfter), "an expired one")
	case now.Sub(certificate.NotAfter) > maxExpiredAge:
		return nil, refuse("certificate", "expired at "+report.Timestamp(certificate.NotAfter),
			"an expiry less than 365 days ago")
	}
	return certificate, nil
}

// checkIssuer returns an error unless a client CA of the API server has issued the certificate.
// The chain is verified at the certificate's own expiry, when its issuer was still valid.
func checkIssuer(certificate *x509.Certificate, cas *x509.CertPool) error {
	if _, err := certificate.Verify(x509.VerifyOptions{
		Roots: cas, CurrentTime: certificate.NotAfter, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}); err != nil {
		return refuse("certificate", err, "one that was issued by a client CA of this cluster")
	}
	return nil
}

// explainAnotherNode returns why a Node cannot be that of a host whose last client certificate is
// this expired one, or "".
func (n *NodeState) explainAnotherNode(name string, certificate *x509.Certificate) (string, report.Remedy) {
	switch {
	case !n.Exists:
		// An administrator deleted the Node, and with it the permission to use its name.
		return "Node " + name + " does not exist any more, so its previous client certificate proves nothing",
			report.Remedy("hcp-node-admin token revoke " + name + " --kubeconfig FILE # if the machine must join again, " +
				"then enroll it again")
	case n.Created.After(latestRegistration(certificate)):
		// Another machine has the name, or an administrator has created the Node for one.
		return "Node " + name + " was created at " + report.Timestamp(n.Created) + ", so it is not the Node of the machine " +
			"with this certificate, which is valid since " + report.Timestamp(certificate.NotBefore), ""
	case n.IsReady:
		return "Node " + name + " is Ready, so its client certificate has not expired", ""
	case n.LastReport.After(certificate.NotAfter.Add(maxClockSkew)):
		// The certificate is an older one of the node, for example from a backup.
		return "Node " + name + " has reported to the cluster after this certificate had expired, so the node had " +
			"a newer one", ""
	}
	return "", ""
}

// latestRegistration returns the latest creation time of the Node of a host with this certificate.
// The host created its Node with its first certificate, shortly after the issue and before the
// expiry. This certificate is the first one or a later one.
func latestRegistration(certificate *x509.Certificate) time.Time {
	latest, expiry := certificate.NotBefore.Add(maxRegistrationDelay), certificate.NotAfter.Add(maxClockSkew)
	if expiry.Before(latest) {
		return expiry
	}
	return latest
}
