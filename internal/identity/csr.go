// SPDX-License-Identifier: Apache-2.0

package identity

import (
	"cmp"
	"context"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/cert"

	"github.com/hcp-node-agent/hcp-node-agent/internal/enrollment"
	"github.com/hcp-node-agent/hcp-node-agent/internal/kube"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// clientUsages returns the key usages that kubelet requests with an ECDSA key.
func clientUsages() []certificatesv1.KeyUsage {
	return []certificatesv1.KeyUsage{certificatesv1.UsageDigitalSignature, certificatesv1.UsageClientAuth}
}

func nodeSubject(nodeName string) pkix.Name {
	return pkix.Name{CommonName: nodeUser(nodeName), Organization: []string{"system:nodes"}}
}

// nodeUser returns the user name of a node.
func nodeUser(nodeName string) string { return "system:node:" + nodeName }

// newClientCSR returns the CSR that kubelet would submit when it bootstraps
// (requestNodeCertificate in k8s.io/kubernetes/pkg/kubelet/certificate/bootstrap).
// A new key also has the name that kubelet would give to the CSR.
func newClientCSR(key *pendingKey, nodeName string) (*kube.CSR, error) {
	subject := nodeSubject(nodeName)
	request, err := cert.MakeCSR(key.private, &subject, nil, nil)
	if err != nil {
		return nil, fmt.Errorf("creating the client CSR: %w", err)
	}
	name, err := key.csrName(nodeName)
	if err != nil {
		return nil, err
	}
	return &kube.CSR{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: certificatesv1.CertificateSigningRequestSpec{
			Request: request, SignerName: certificatesv1.KubeAPIServerClientKubeletSignerName, Usages: clientUsages(),
		},
	}, nil
}

// phase is the progress of a CSR.
type phase string

const (
	phaseAbsent   phase = "absent"
	phasePending  phase = "pending"
	phaseApproved phase = "approved" // but not issued yet
	phaseIssued   phase = "issued"
	phaseDenied   phase = "denied"
	phaseFailed   phase = "failed"
	phaseExpired  phase = "expired" // the issued certificate has expired
	// The CSR has the same name but another key.
	phaseKeyMismatch phase = "a request of another node or key"
	// The issued certificate does not match the request.
	phaseCertificateMismatch phase = "issued incorrectly"
	phaseAnnotationMismatch  phase = "without the proof of this node's identity"
)

// csrStatus is the evaluated status of a CSR.
type csrStatus struct {
	phase       phase
	detail      string // reason and message of a denial, or the mismatch
	certificate []byte // PEM; only if issued
}

// evaluateCSR compares the CSR found in the cluster with the CSR that this node
// submits. found is nil if none exists.
func evaluateCSR(found, expected *kube.CSR, now metav1.Time) csrStatus {
	if found == nil {
		return csrStatus{phase: phaseAbsent}
	}
	if err := checkSameRequest(found, expected); err != nil {
		return csrStatus{phase: phaseKeyMismatch, detail: err.Error()}
	}
	isApproved, isOwn := false, hasAnnotations(found, expected)
	for _, condition := range found.Status.Conditions {
		detail := condition.Reason
		if condition.Message != "" {
			detail += ": " + condition.Message
		}
		switch {
		case condition.Type == certificatesv1.CertificateDenied && !isOwn:
			return csrStatus{phase: phaseAnnotationMismatch, detail: "denied: " + detail}
		case condition.Type == certificatesv1.CertificateDenied:
			return csrStatus{phase: phaseDenied, detail: detail}
		case condition.Type == certificatesv1.CertificateFailed && condition.Status != corev1.ConditionFalse:
			return csrStatus{phase: phaseFailed, detail: detail}
		case condition.Type == certificatesv1.CertificateApproved:
			isApproved = true
		}
	}
	switch {
	case len(found.Status.Certificate) > 0:
		return evaluateCertificate(found.Status.Certificate, expected, now)
	case isApproved:
		return csrStatus{phase: phaseApproved}
	case !isOwn:
		return csrStatus{phase: phaseAnnotationMismatch, detail: "the annotations of an existing CSR cannot be changed"}
	}
	return csrStatus{phase: phasePending}
}

func evaluateCertificate(content []byte, expected *kube.CSR, now metav1.Time) csrStatus {
	request, err := parseRequest(expected.Spec.Request)
	var leaf *x509.Certificate
	if err == nil {
		leaf, err = parseLeaf(content)
	}
	switch {
	case err != nil:
		return csrStatus{phase: phaseCertificateMismatch, detail: err.Error()}
	case !enrollment.SamePublicKey(leaf.PublicKey, request.PublicKey):
		return csrStatus{phase: phaseCertificateMismatch, detail: "its certificate is for another key"}
	case leaf.Subject.CommonName != request.Subject.CommonName ||
		!slices.Equal(leaf.Subject.Organization, request.Subject.Organization):
		return csrStatus{
			phase:  phaseCertificateMismatch,
			detail: fmt.Sprintf("its certificate is for %q", leaf.Subject),
		}
	case now.After(leaf.NotAfter):
		return csrStatus{phase: phaseExpired, detail: "its certificate expired at " + report.Timestamp(leaf.NotAfter)}
	}
	return csrStatus{phase: phaseIssued, certificate: content}
}

// checkSameRequest returns an error that states the difference unless both request the
// same certificate.
func checkSameRequest(found, expected *kube.CSR) error {
	actual, err := parseRequest(found.Spec.Request)
	if err != nil {
		return err
	}
	mine, err := parseRequest(expected.Spec.Request)
	if err != nil {
		return err
	}
	switch {
	case !enrollment.SamePublicKey(actual.PublicKey, mine.PublicKey):
		return errors.New("it is for another key")
	case actual.Subject.String() != mine.Subject.String():
		return fmt.Errorf("it requests %q", actual.Subject)
	case found.Spec.SignerName != expected.Spec.SignerName:
		return fmt.Errorf("it is for the signer %q", found.Spec.SignerName)
	case !slices.Equal(found.Spec.Usages, expected.Spec.Usages):
		return fmt.Errorf("it requests the usages %q", found.Spec.Usages)
	}
	return nil
}

// hasAnnotations reports whether an existing CSR carries the annotations of the
// agent's own CSR. An approver that matches annotations can never approve a CSR
// without them.
func hasAnnotations(found, expected *kube.CSR) bool {
	for name, value := range expected.Annotations {
		if found.Annotations[name] != value {
			return false
		}
	}
	return true
}

func parseRequest(content []byte) (*x509.CertificateRequest, error) {
	block, _ := pem.Decode(content)
	if block == nil || block.Type != "CERTIFICATE REQUEST" {
		return nil, errors.New("it contains no certificate request in PEM form")
	}
	request, err := x509.ParseCertificateRequest(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("parsing certificate request: %w", err)
	}
	return request, nil
}

// PendingCSR describes the client CSR of a key without a certificate.
type PendingCSR struct {
	Name        string `json:"name"`
	Fingerprint string `json:"fingerprint"` // of the public key
	// absent, pending, approved, issued, denied, failed, ...; "" if the cluster was not queried
	Phase  string    `json:"phase,omitempty"`
	Detail string    `json:"detail,omitempty"` // reason and message of a denial
	Since  time.Time `json:"since,omitzero"`   // when it was submitted
}

// FindPendingCSR returns the client CSR that an earlier run has submitted, or nil if
// there is no pending key. It creates nothing. If the cluster cannot be
// queried, it returns the name of the CSR and an error.
func (i *Identity) FindPendingCSR(ctx context.Context) (*PendingCSR, error) {
	key, err := loadKey(i.KeyDir)
	if err != nil || key.private == nil {
		return nil, err
	}
	expected, err := newClientCSR(key, i.NodeName)
	if err != nil {
		return nil, err
	}
	pending := &PendingCSR{Name: expected.Name, Fingerprint: fingerprint(&key.private.PublicKey)}
	connection, err := i.reconnectBootstrap()
	if err != nil {
		return pending, err
	}
	found, err := connection.Client.CSRs().Find(ctx, expected.Name)
	if err != nil {
		return pending, connection.Explain(ctx, err).Failure("getting the client CSR")
	}
	at := evaluateCSR(found, expected, metav1.Now())
	pending.Phase, pending.Detail = string(at.phase), at.detail
	if found != nil {
		pending.Since = found.CreationTimestamp.Time
	}
	return pending, nil
}

// reconnectBootstrap returns a connection with the bootstrap credential, which is removed after the join.
func (i *Identity) reconnectBootstrap() (*kube.Conn, error) {
	if i.BootstrapKubeconfig == nil {
		return nil, errors.New("this host has no bootstrap credential any more")
	}
	connection, _, err := i.connectBootstrap()
	return connection, err
}

// newestFirst returns the CSRs of a requestor, the newest first.
func newestFirst(found map[string]*kube.CSR, requestor string) []*kube.CSR {
	all := slices.SortedFunc(maps.Values(found), func(a, b *kube.CSR) int {
		return cmp.Or(b.CreationTimestamp.Compare(a.CreationTimestamp.Time), strings.Compare(b.Name, a.Name))
	})
	return slices.DeleteFunc(all, func(csr *kube.CSR) bool { return csr.Spec.Username != requestor })
}
