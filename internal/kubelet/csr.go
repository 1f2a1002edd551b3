package kubelet

import (
	"crypto"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"slices"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/cert"

	"github.com/hcp-node-agent/hcp-node-agent/internal/ticket"
)

// clientUsages returns the key usages that kubelet requests with an ECDSA key.
func clientUsages() []certificatesv1.KeyUsage {
	return []certificatesv1.KeyUsage{certificatesv1.UsageDigitalSignature, certificatesv1.UsageClientAuth}
}

func nodeSubject(nodeName string) pkix.Name {
	return pkix.Name{CommonName: userOf(nodeName), Organization: []string{"system:nodes"}}
}

// userOf returns the user name of a node.
func userOf(nodeName string) string { return "system:node:" + nodeName }

// clientRequest returns the CSR that kubelet would submit when it bootstraps,
// including its name (requestNodeCertificate in
// k8s.io/kubernetes/pkg/kubelet/certificate/bootstrap).
func clientRequest(key *pendingKey, nodeName string) (*certificatesv1.CertificateSigningRequest, error) {
	subject := nodeSubject(nodeName)
	request, err := cert.MakeCSR(key.private, &subject, nil, nil)
	if err != nil {
		return nil, fmt.Errorf("making the client CSR: %w", err)
	}
	name, err := ticket.ClientCSRName(&key.private.PublicKey, nodeName)
	if err != nil {
		return nil, err
	}
	return &certificatesv1.CertificateSigningRequest{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: certificatesv1.CertificateSigningRequestSpec{
			Request: request, SignerName: certificatesv1.KubeAPIServerClientKubeletSignerName, Usages: clientUsages(),
		},
	}, nil
}

// phase is the progress of a CSR.
type phase string

const (
	absent      phase = "absent"
	pending     phase = "pending"
	approved    phase = "approved" // but not issued yet
	issued      phase = "issued"
	denied      phase = "denied"
	failed      phase = "failed"
	somebodys   phase = "somebody else's" // has the same name but another key
	outOfDate   phase = "out of date"     // the issued certificate has expired
	notAskedFor phase = "not asked for"   // the issued certificate does not match the request
	otherTicket phase = "of another ticket, or of none"
)

// standing is the evaluated status of a CSR.
type standing struct {
	phase       phase
	detail      string // reason and message of a denial, or the mismatch
	certificate []byte // PEM; only if issued
}

// assess evaluates the CSR found in the cluster against ours, the CSR that this
// node submits. found is nil if none exists.
func assess(found, ours *certificatesv1.CertificateSigningRequest, now metav1.Time) standing {
	if found == nil {
		return standing{phase: absent}
	}
	if err := sameRequest(found, ours); err != nil {
		return standing{phase: somebodys, detail: err.Error()}
	}
	isApproved := false
	for _, condition := range found.Status.Conditions {
		detail := condition.Reason
		if condition.Message != "" {
			detail += ": " + condition.Message
		}
		switch {
		case condition.Type == certificatesv1.CertificateDenied:
			return standing{phase: denied, detail: detail}
		case condition.Type == certificatesv1.CertificateFailed && condition.Status != corev1.ConditionFalse:
			return standing{phase: failed, detail: detail}
		case condition.Type == certificatesv1.CertificateApproved:
			isApproved = true
		}
	}
	switch {
	case len(found.Status.Certificate) > 0:
		return assessCertificate(found.Status.Certificate, ours, now)
	case isApproved:
		return standing{phase: approved}
	case !annotatedAs(found, ours):
		return standing{phase: otherTicket, detail: "it carries no proof of this node's ticket, and what a CSR carries cannot be changed"}
	}
	return standing{phase: pending}
}

func assessCertificate(content []byte, ours *certificatesv1.CertificateSigningRequest, now metav1.Time) standing {
	request, err := parseRequest(ours.Spec.Request)
	if err != nil {
		return standing{phase: notAskedFor, detail: err.Error()}
	}
	chain, err := certificates(content)
	if err != nil {
		return standing{phase: notAskedFor, detail: err.Error()}
	}
	leaf := chain[0]
	switch {
	case !samePublicKey(leaf.PublicKey, request.PublicKey):
		return standing{phase: notAskedFor, detail: "its certificate is for another key"}
	case leaf.Subject.CommonName != request.Subject.CommonName || !slices.Equal(leaf.Subject.Organization, request.Subject.Organization):
		return standing{phase: notAskedFor, detail: fmt.Sprintf("its certificate is for %q", leaf.Subject)}
	case now.After(leaf.NotAfter):
		return standing{phase: outOfDate, detail: "its certificate expired at " + stamp(leaf.NotAfter)}
	}
	return standing{phase: issued, certificate: content}
}

// sameRequest returns an error that states the difference unless found requests
// the same certificate as ours.
func sameRequest(found, ours *certificatesv1.CertificateSigningRequest) error {
	theirs, err := parseRequest(found.Spec.Request)
	if err != nil {
		return err
	}
	mine, err := parseRequest(ours.Spec.Request)
	if err != nil {
		return err
	}
	switch {
	case !samePublicKey(theirs.PublicKey, mine.PublicKey):
		return errors.New("it is for another key")
	case theirs.Subject.String() != mine.Subject.String():
		return fmt.Errorf("it asks for %q", theirs.Subject)
	case found.Spec.SignerName != ours.Spec.SignerName:
		return fmt.Errorf("it is for the signer %q", found.Spec.SignerName)
	}
	return nil
}

func parseRequest(content []byte) (*x509.CertificateRequest, error) {
	block, _ := pem.Decode(content)
	if block == nil || block.Type != "CERTIFICATE REQUEST" {
		return nil, errors.New("it holds no certificate request in PEM form")
	}
	request, err := x509.ParseCertificateRequest(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("parsing certificate request: %w", err)
	}
	return request, nil
}

func samePublicKey(a, b any) bool {
	key, ok := a.(interface {
		Equal(other crypto.PublicKey) bool
	})
	return ok && key.Equal(b)
}
