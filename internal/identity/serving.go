// SPDX-License-Identifier: Apache-2.0

package identity

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/hcp-node-agent/hcp-node-agent/internal/kube"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/wait"
)

// Serving follows the CSR that kubelet submits for its serving certificate,
// with which the API server verifies kubelet for logs and exec. The key stays
// in kubelet's memory, and the CSR's name is generated. After fifteen minutes
// without approval kubelet submits another CSR. So only the newest counts, and
// only the stored certificate proves success.
type Serving struct {
	Conn      *kube.Conn // with the node's credential; Check does not need it
	NodeName  string
	Log       report.Log
	Dir       string // kubelet's certificates, PKIDirectory
	Addresses []netip.Addr
	Topology  ClusterTopology
	// Quiet is the time for which Obtain only checks whether kubelet has stored its certificate, for a node whose CSRs are
	// approved automatically. The list and the watch of serving CSRs contain those of all nodes, so a wave of nodes would
	// receive each other's.
	Quiet time.Duration
	// Validate fails unless a CSR belongs to this node and requests no more than
	// it may.
	Validate func(*kube.CSR) error
}

// Check reads only the stored certificate. A certificate with an address that
// this host no longer has counts as missing.
func (s *Serving) Check() State {
	leaf := readLeaf(ServingCertificatePath(s.Dir))
	switch {
	case leaf == nil, leaf.Subject.CommonName != nodeUser(s.NodeName), !slices.Contains(leaf.DNSNames, s.NodeName):
		return Missing
	case time.Now().After(leaf.NotAfter):
		return Expired
	}
	for _, ip := range leaf.IPAddresses {
		address, _ := netip.AddrFromSlice(ip)
		if !slices.Contains(s.Addresses, address.Unmap()) {
			return Missing
		}
	}
	return Valid
}

// Obtain waits until kubelet has stored its serving certificate or ctx ends.
// Meanwhile it logs the CSR that needs approval.
func (s *Serving) Obtain(ctx context.Context, approve Approver) (Result, error) {
	if s.Check() == Valid {
		return Result{}, s.handleRenewal(ctx, approve)
	}
	if approve == nil && s.awaitStored(ctx) {
		return Result{Changed: true}, nil
	}
	w := &servingWait{Serving: s, approve: approve, started: time.Now()}
	err := kube.Follow(ctx, s.Conn, s.Log, s.source(), time.Second,
		func(found map[string]*kube.CSR) (bool, error) {
			return w.handleCSRs(ctx, found)
		})
	return Result{Changed: true, CSR: w.csrName}, report.FailureAtDeadline(ctx, err, w.timeoutErr)
}

// EnrolledQuiet is the value of Serving.Quiet for a node with an enrollment. Its CSR is approved within seconds, or
// later in a wave of nodes.
const EnrolledQuiet = 5 * time.Minute

// awaitStored reports whether kubelet has stored its certificate within s.Quiet. It sends no request.
func (s *Serving) awaitStored(ctx context.Context) bool {
	if s.Quiet > 0 {
		s.Log.Wait("waiting for the controller to approve the serving CSR, which it does if the NodeEnrollment contains the "+
			"addresses of the node", s.approvalRemedy(""))
	}
	for end := time.Now().Add(s.Quiet); time.Now().Before(end); {
		if s.Check() == Valid {
			return true
		}
		if wait.Sleep(ctx, time.Second) != nil {
			return false
		}
	}
	return false
}

// approvalRemedy returns how an administrator approves a serving CSR.
func (s *Serving) approvalRemedy(csr string) report.Remedy {
	if s.Quiet > 0 {
		return report.Remedyf("# run %s; it prints why the controller does not approve the CSR:\nhcp-node-admin approve %s",
			s.Topology.CommandLocation(), s.NodeName)
	}
	return s.Topology.approvalRemedy(csr)
}

// source selects this node's serving CSRs. The API server cannot filter by
// requestor, so the list includes those of other nodes, which are discarded
// immediately.
func (s *Serving) source() kube.Source[*kube.CSR] {
	all := s.Conn.Client.CSRs().Source("watching serving CSRs",
		"spec.signerName="+certificatesv1.KubeletServingSignerName)
	all.Filter = func(csr *kube.CSR) bool {
		return csr.Spec.Username == nodeUser(s.NodeName)
	}
	return all
}

// servingWait is one wait for the serving certificate.
type servingWait struct {
	*Serving
	approve    Approver
	started    time.Time
	offeredUID types.UID // the CSR that was passed to the approver
	csrName    string    // name of the CSR that needs approval
	timeoutErr error     // the error if the deadline passed now
}

const noServingCSRText = "kubelet has not requested its serving certificate yet (it does so when its Node has " +
	"addresses and serverTLSBootstrap is true in /etc/kubernetes/kubelet.conf)"

func (w *servingWait) handleCSRs(ctx context.Context, found map[string]*kube.CSR) (bool, error) {
	if w.Check() == Valid {
		return true, nil
	}
	choice := w.selectCSR(found)
	if choice.csr == nil && choice.rejected == nil {
		const remedy = "journalctl -b -u kubelet"
		w.timeoutErr = report.Fail(report.Failed, remedy, "%s", noServingCSRText)
		if time.Since(w.started) > 10*time.Second { // kubelet needs a moment to register
			w.Log.Wait("waiting for the serving CSR: "+noServingCSRText, remedy)
		}
		return false, nil
	}
	if rejected := choice.rejected; rejected != nil {
		w.timeoutErr = report.Fail(report.ApprovalMissing, rejected.Remedy, "%s", rejected.Text)
		w.Log.Wait("waiting for a valid serving CSR: "+rejected.Text, rejected.Remedy)
	}
	if choice.csr == nil {
		return false, nil
	}
	return false, w.handleCSR(ctx, choice.csr)
}

// handleCSR reports the state of an acceptable CSR, and passes it to the approver
// once.
func (w *servingWait) handleCSR(ctx context.Context, csr *kube.CSR) error {
	w.csrName = csr.Name
	log := w.Log.ForRequest(csr.Name)
	for _, condition := range csr.Status.Conditions {
		switch condition.Type {
		case certificatesv1.CertificateDenied, certificatesv1.CertificateFailed:
			const remedy = "systemctl restart kubelet # kubelet requests a new certificate immediately"
			text := fmt.Sprintf("serving CSR %s is %s (%s: %s); kubelet requests a new certificate later", csr.Name,
				condition.Type, condition.Reason, condition.Message)
			w.timeoutErr = report.Fail(report.ApprovalMissing, remedy, "%s", text)
			log.Wait("waiting for a new serving CSR: "+text, remedy)
			return nil
		case certificatesv1.CertificateApproved:
			if len(csr.Status.Certificate) == 0 && time.Since(condition.LastUpdateTime.Time) > 4*time.Second {
				log.Wait("waiting for a certificate: serving CSR "+csr.Name+" is approved, but no certificate "+
					"has been issued yet",
					w.Topology.SignerRemedy())
			}
			w.timeoutErr = report.Fail(report.Failed, "journalctl -b -u kubelet",
				"serving CSR %s was approved, but kubelet has no serving certificate", csr.Name)
			return nil
		}
	}
	remedy := w.approvalRemedy(csr.Name)
	w.timeoutErr = report.Fail(report.ApprovalMissing,
		remedy+"\n# kubelet submits a new CSR after 15 minutes",
		"timed out waiting for approval of serving CSR %s", csr.Name)
	if w.approve == nil {
		log.Wait(servingApprovalText(csr), remedy)
		return nil
	}
	if w.offeredUID == csr.UID {
		return nil
	}
	w.offeredUID = csr.UID
	_, keyFingerprint := servingNames(csr)
	log.Wait(ownApprovalText(csr.Name, keyFingerprint), "")
	return w.approve(ctx, ApprovalRequest{Name: csr.Name})
}

// servingNames returns the names and the key's fingerprint in a serving CSR.
func servingNames(csr *kube.CSR) (names, keyFingerprint string) {
	request, err := parseRequest(csr.Spec.Request)
	if err != nil {
		return "", ""
	}
	return fmt.Sprint(request.DNSNames, request.IPAddresses), fingerprint(request.PublicKey)
}

func servingApprovalText(csr *kube.CSR) string {
	names, keyFingerprint := servingNames(csr)
	return fmt.Sprintf("waiting for approval of serving CSR %s for %s (names %s, key %s, signer %s, created at %s)",
		csr.Name, csr.Spec.Username, names, keyFingerprint, csr.Spec.SignerName,
		report.Timestamp(csr.CreationTimestamp.Time))
}
