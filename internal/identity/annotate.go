package identity

import (
	certificatesv1 "k8s.io/api/certificates/v1"
)

// csrAnnotations returns the annotations for the CSR of this node. Annotations can
// only be set on creation: the bootstrap credential is not allowed to change a
// CSR.
func (a *csrRequester) csrAnnotations() (map[string]string, error) {
	if a.identity.Annotate == nil {
		return nil, nil
	}
	return a.identity.Annotate(&a.key.private.PublicKey)
}

// hasAnnotations reports whether an existing CSR carries the annotations of the
// agent's own CSR. An approver that matches annotations can never approve a CSR
// without them.
func hasAnnotations(found, ours *certificatesv1.CertificateSigningRequest) bool {
	for name, value := range ours.Annotations {
		if found.Annotations[name] != value {
			return false
		}
	}
	return true
}

// approvalHint returns a clause that states how the CSR is approved.
func (a *csrRequester) approvalHint() string {
	if len(a.desired.Annotations) == 0 {
		return a.identity.Topology.ManualApprovalHint()
	}
	return "it carries the proof of this node's ticket, so an approver that has the claim approves it by itself; where none is running"
}

// approveCommand returns the command with which an administrator approves the
// CSR.
func (a *csrRequester) approveCommand() string {
	byHand := "oc adm certificate approve " + a.desired.Name
	if len(a.desired.Annotations) == 0 {
		return byHand
	}
	return "hcp-node-agent approve --claims DIR --kubeconfig FILE # DIR has the claim\n# or this one by hand:\n" + byHand
}

// ownApprovalText returns the message while the agent approves a CSR of its own
// node, for which the administrator has nothing to do.
func ownApprovalText(csr, fingerprint string) string {
	return "waiting for approval of CSR " + csr + " (key " + fingerprint + ") with the kubeconfig of --approve-with"
}
