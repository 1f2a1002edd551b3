package kubelet

import (
	certificatesv1 "k8s.io/api/certificates/v1"
)

// annotations are those that our CSR is to have. They can only be set when it
// is created: the bootstrap credential may not change a CSR.
func (a *asking) annotations() (map[string]string, error) {
	if a.identity.Annotate == nil {
		return nil, nil
	}
	return a.identity.Annotate(&a.key.private.PublicKey)
}

// annotatedAs tells whether a CSR that is there carries what ours would. One
// that does not can never be approved by what it should carry.
func annotatedAs(found, ours *certificatesv1.CertificateSigningRequest) bool {
	for name, value := range ours.Annotations {
		if found.Annotations[name] != value {
			return false
		}
	}
	return true
}

// whoApproves says who is to approve our CSR.
func (a *asking) whoApproves() string {
	if len(a.ours.Annotations) == 0 {
		return a.identity.Place.Nobody()
	}
	return "it carries the proof of this node's ticket, so an approver that has the claim approves it by itself; where none is running"
}

// approveCommand is what a person types to have our CSR approved.
func (a *asking) approveCommand() string {
	byHand := "oc adm certificate approve " + a.ours.Name
	if len(a.ours.Annotations) == 0 {
		return byHand
	}
	return "hcp-node-agent approve --claims DIR --kubeconfig FILE # DIR has the claim\n# or this one by hand:\n" + byHand
}

// ownApprovalText returns the message while the agent approves a CSR of its own
// node, for which the administrator has nothing to do.
func ownApprovalText(csr, fingerprint string) string {
	return "waiting for approval of CSR " + csr + " (key " + fingerprint + ") with the kubeconfig of --approve-with"
}
