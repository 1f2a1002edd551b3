// SPDX-License-Identifier: Apache-2.0

package approver

import (
	"cmp"
	"crypto/x509"
	"fmt"
	"net/netip"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/hcp-node-agent/hcp-node-agent/internal/api/v1alpha1"
	"github.com/hcp-node-agent/hcp-node-agent/internal/enrollment"
	"github.com/hcp-node-agent/hcp-node-agent/internal/kube"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/schema"
)

// Outcome is the outcome of a decision on a CSR. CSRs are never denied, so an administrator can
// still approve an ignored or refused one.
type Outcome string

// Outcomes of a decision.
const (
	Approved Outcome = "approved"
	Ignored  Outcome = "ignored" // no enrollment applies
	Refused  Outcome = "refused" // it names an enrollment, or an enrolled node, and breaks a rule
)

// Warning is the outcome of an approval that the API server has rejected.
const Warning Outcome = "warning"

// Enum returns all outcomes.
func (Outcome) Enum() []string { return schema.Strings(Approved, Ignored, Refused) }

// Decision is the outcome for a CSR and its reason.
type Decision struct {
	Outcome    Outcome
	Reason     string // "" if there is nothing to report
	Remedy     report.Remedy
	Node       string
	Enrollment *enrollment.Enrollment // the enrollment that permits the approval
	Key        string                 // fingerprint of the CSR's public key
	UsesToken  bool                   // whether the approval is a use of the join token with a key that is not recorded
}

// Facts describe the state of the cluster for a decision.
type Facts struct {
	Now            time.Time
	CAHashes       []enrollment.Hash       // hashes of the cluster's CAs, from the kubeconfig
	UsedKeys       map[string]string       // token ID to the fingerprint of the key that it was used with
	UsedAt         map[string]time.Time    // token ID to the time of the use, if it is recorded
	Node           *NodeState              // with the name of the CSR's node; nil if unknown
	NodesByAddress map[netip.Addr][]string // address to the names of the Nodes that report it; nil if unknown
	ClientCAs      *x509.CertPool          // CAs of client certificates; nil if the decision does not need them
	ClientCAsError error                   // why ClientCAs cannot be read
	Lost           map[string]string       // names of the nodes that were removed as lost
}

// isLost reports whether a node was removed as lost.
func (f Facts) isLost(node string) bool {
	_, isLost := f.Lost[node]
	return isLost
}

// hasUsed reports whether the join token of an enrollment was used in this cluster. Its expiry is ignored, because it
// only limits the first use.
func (f Facts) hasUsed(record *enrollment.Enrollment) bool {
	return f.UsedKeys[record.ID] != "" && record.CheckCluster(f.CAHashes) == nil
}

// Decide decides on a CSR. The decision depends only on the CSR, the enrollments and the facts.
// No other function decides whether a CSR is approved.
func Decide(csr *kube.CSR, enrollments Enrollments, facts Facts) Decision {
	if IsDecided(csr) {
		return Decision{Outcome: Ignored}
	}
	request := ParseCSR(csr)
	switch {
	case IsServing(csr):
		return decideServing(csr, request, enrollments, facts)
	case csr.Spec.SignerName != certificatesv1.KubeAPIServerClientKubeletSignerName:
		return Decision{Outcome: Ignored}
	case csr.Spec.Username == nodePrefix+request.Node:
		// A renewal, which the cluster itself approves (selfnodeclient).
		return Decision{Outcome: Ignored}
	}
	return decideClient(csr, request, enrollments, facts)
}

func decideClient(csr *kube.CSR, request Content, enrollments Enrollments, facts Facts) Decision {
	d := Decision{Outcome: Refused, Node: request.Node, Key: request.Fingerprint}
	id := request.TokenID
	if facts.isLost(d.Node) {
		return refuseLost(d)
	}
	if request.HasCertificate {
		expired := decideExpired(csr, request, enrollments, facts)
		if expired.Outcome == Approved || id == "" {
			return expired
		}
	}
	record := enrollments.ofToken(id)
	if record == nil {
		return decideWithoutEnrollment(d, id, enrollments)
	}
	d.Node = record.NodeName
	expected := ExpectedNode{NodeName: record.NodeName, PublicKey: request.PublicKey}
	// Verify the token's signature before the expensive rules: only the holder of the token can
	// pass that check, while any bootstrapper can read the token ID from the CSR.
	for _, rule := range []func() error{
		func() error { return record.CheckExpiry(facts.Now) },
		func() error { return request.Invalid },
		func() error { return record.Verify(facts.CAHashes, request.PublicKey, csr.Annotations) },
		func() error { return expected.CheckClient(csr) },
	} {
		if err := rule(); err != nil {
			d.Reason, d.Remedy = err.Error(), report.RemedyOf(err)
			return d
		}
	}
	copied := enrollment.CheckCSRName(csr.Name, record.NodeName, request.PublicKey, csr.Annotations)
	switch bound := facts.UsedKeys[id]; {
	case facts.Node == nil:
		d.Outcome, d.Reason = Ignored, unknownNode(d.Node)
		return d
	case facts.Node.Exists && !record.Reinstall.ReplacesNode():
		d.Reason = fmt.Sprintf("Node %s already exists in the cluster", d.Node)
		d.Remedy = report.Remedy("oc delete node " + d.Node + " # if its machine no longer exists or was " +
			"reinstalled; the CSR is approved after that")
		return d
	case facts.Node.IsReady:
		d.Reason = fmt.Sprintf("Node %s is Ready, so its machine was not reinstalled", d.Node)
		return d
	case bound != "" && bound != d.Key && record.Reinstall != v1alpha1.ReinstallAllowSameToken:
		d.Reason = fmt.Sprintf("join token %s was already used with another key (%s)", id, bound)
		d.Remedy = report.Remedy("hcp-node-admin token revoke " + d.Node + " --kubeconfig FILE # if the machine was " +
			"reinstalled, then enroll it again; otherwise find out which host has the join token")
		return d
	case copied != nil:
		// Any bootstrapper can copy the request and its signature any number of times.
		d.Reason, d.Remedy = copied.Error(), report.RemedyOf(copied)
		return d
	}
	d.Outcome, d.Enrollment, d.UsesToken = Approved, record, facts.UsedKeys[id] != d.Key
	return d
}

// refuseLost completes the decision on a CSR of a node that was removed as lost.
func refuseLost(d Decision) Decision {
	d.Outcome, d.Reason, d.Remedy = Refused, lostReason(d.Node), FoundRemedy(d.Node)
	return d
}

func lostReason(node string) string { return "node " + node + " was removed as lost" }

// FoundRemedy returns the command that ends the exclusion of a lost node.
func FoundRemedy(node string) report.Remedy {
	return report.Remedyf("hcp-node-admin found %s # if you control the host again", node)
}

// unknownNode returns the reason of a decision without the state of the Node.
func unknownNode(name string) string { return "whether Node " + name + " exists is not known" }

// decideWithoutEnrollment completes the decision on a client CSR whose token ID matches no enrollment.
func decideWithoutEnrollment(d Decision, id string, enrollments Enrollments) Decision {
	record := enrollments[d.Node]
	switch {
	case record != nil && id == "":
		d.Reason = fmt.Sprintf("it contains no join token, but node %s has one (%s)", d.Node, record.ID)
	case record != nil:
		d.Reason = fmt.Sprintf("no enrollment exists for its join token %q; the join token of node %s is %s",
			truncate(id), d.Node, record.ID)
	case id == "":
		d.Outcome = Ignored
		d.Reason = fmt.Sprintf("it contains no join token, and no enrollment exists for node %q", truncate(d.Node))
	default:
		d.Outcome = Ignored
		d.Reason = fmt.Sprintf("no enrollment exists for its join token %q", truncate(id))
	}
	return d
}

func decideServing(csr *kube.CSR, request Content, enrollments Enrollments, facts Facts) Decision {
	name := cmp.Or(request.Requestor, request.Node) // without a node as requestor, ExpectedNode below refuses it
	d := Decision{
		Outcome: Ignored, Node: name, Key: request.Fingerprint,
		Remedy: report.Remedy(CommandFor("oc adm certificate approve ", csr.Name, " # after checking its names")),
	}
	record := enrollments[name]
	switch {
	case facts.isLost(name):
		return refuseLost(d)
	case record == nil:
		d.Reason = fmt.Sprintf("no enrollment exists for node %q", truncate(name))
		return d
	case !facts.hasUsed(record):
		d.Reason = "no join token of " + name + " was used in this cluster: its client certificate was not issued " +
			"through its enrollment"
		return d
	case len(record.Addresses) == 0:
		d.Reason = "the enrollment of " + name + " contains no addresses, so an administrator must check those of " +
			"the CSR"
		return d
	}
	d.Outcome, d.Remedy = Refused, ""
	if err := (ExpectedNode{NodeName: name, Addresses: record.Addresses}).CheckServing(csr); err != nil {
		d.Reason = err.Error()
		return d
	}
	if facts.NodesByAddress == nil {
		d.Outcome, d.Reason = Ignored, "which Nodes have its addresses is not known"
		return d
	}
	conflict := request.conflict(name, enrollments, facts)
	if d.Reason = conflict.String(); conflict.isEnrolled {
		return d
	}
	d.Outcome, d.Enrollment = Approved, record
	return d
}

// IsServing reports whether a CSR is for a kubelet's serving certificate.
func IsServing(csr *kube.CSR) bool {
	return csr.Spec.SignerName == certificatesv1.KubeletServingSignerName
}

// IsDecided reports whether a CSR is already approved, denied, failed or issued.
func IsDecided(csr *kube.CSR) bool {
	return len(csr.Status.Conditions) > 0 || len(csr.Status.Certificate) > 0
}

// ApprovedReason is the reason of the condition Approved. It distinguishes these approvals from those of others.
const ApprovedReason = "HCPNodeAgentApprove"

// WithApproval returns a copy of a CSR with the condition that approves it. The copy contains the resource version, so
// that the API server rejects it with a conflict if the CSR has changed since it was checked.
func WithApproval(csr *kube.CSR, message string) *kube.CSR {
	csr = csr.DeepCopy()
	csr.Status.Conditions = append(csr.Status.Conditions, certificatesv1.CertificateSigningRequestCondition{
		Type: certificatesv1.CertificateApproved, Status: corev1.ConditionTrue, Reason: ApprovedReason, Message: message,
	})
	return csr
}

// maxQuoted is the number of bytes of a text of a CSR that a message quotes.
const maxQuoted = 80

func truncate(text string) string { return report.Shorten(text, maxQuoted) }
