// SPDX-License-Identifier: Apache-2.0

package enrollment

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/rand"
	"crypto/sha256"
	"crypto/sha512"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// annotationNameSignature is the annotation with which a node proves that it has chosen the name of
// its CSR: a signature by the key of the CSR. A copy of the CSR has another name.
const annotationNameSignature = "hcp-node-agent.io/csr-name-signature"

const (
	// nameDomain separates this signature from signatures for other purposes. A change of the signed data
	// needs another version.
	nameDomain = "hcp-node-agent CSR name v1"
	// maxNameSignature is the maximum length of the signature in bytes. That of the largest key that the
	// controller accepts has about 140.
	maxNameSignature = 192
)

const clientCSRPrefix = "node-csr-"

// ClientCSRName returns the name that kubelet gives the client CSR of a node with this public key
// (digestedName in k8s.io/kubernetes/pkg/kubelet/certificate/bootstrap). The name is derived from
// the key, the subject and the usages, so a cluster has at most one CSR of that name. Any user
// with access to the key can compute the name, and create a CSR that occupies it.
func ClientCSRName(publicKey crypto.PublicKey, nodeName string) (string, error) {
	der, err := x509.MarshalPKIXPublicKey(publicKey)
	if err != nil {
		return "", fmt.Errorf("encoding public key: %w", err)
	}
	encode := base64.RawURLEncoding.EncodeToString
	hash := sha512.New512_256()
	for _, part := range []string{
		string(der), "system:node:" + nodeName, "system:nodes", "digital signature", "client auth",
	} {
		hash.Write([]byte(encode([]byte(part)) + "|"))
	}
	return clientCSRPrefix + encode(hash.Sum(nil)), nil
}

// RandomCSRName returns a name for a client CSR that no other user of a bootstrap credential can
// predict and occupy.
func RandomCSRName() string { return clientCSRPrefix + strings.ToLower(rand.Text()) }

// SignCSRName returns the annotations for a CSR with this name and key. The same name and key always
// have the same annotations.
func SignCSRName(name string, key *ecdsa.PrivateKey) (map[string]string, error) {
	digest := nameDigest(name)
	signature, err := key.Sign(nil, digest[:], crypto.SHA256) // deterministic (RFC 6979)
	if err != nil {
		return nil, fmt.Errorf("signing the name of the CSR: %w", err)
	}
	return map[string]string{annotationNameSignature: encodeSignature(signature)}, nil
}

// CheckCSRName returns an error unless the node with this public key has chosen the name of its CSR:
// the name is that of ClientCSRName, or it is signed by the key. Therefore only the node itself can
// have more than one CSR approved.
func CheckCSRName(name, nodeName string, publicKey crypto.PublicKey, annotations map[string]string) error {
	own, err := ClientCSRName(publicKey, nodeName)
	if err != nil || name == own {
		return err
	}
	text, isSigned := annotations[annotationNameSignature]
	key, isECDSA := publicKey.(*ecdsa.PublicKey)
	if isSigned && isECDSA {
		digest := nameDigest(name)
		signature, err := decodeSignature(text, maxNameSignature)
		switch {
		case report.CodeOf(err) == report.Refused:
			return err
		case err == nil && ecdsa.VerifyASN1(key, digest[:], signature):
			return nil
		}
	}
	return fmt.Errorf("it is a copy: its name is neither %s nor signed by the key of the node", own)
}

func nameDigest(name string) [sha256.Size]byte {
	return sha256.Sum256([]byte(nameDomain + "\x00" + name))
}

// AnnotationCertificate is the annotation of a CSR with the node's previous client certificate
// (base64 of DER), which has the same key. It identifies a node that has joined with a token and
// whose client certificate has expired. Certificates are public, so the annotation is no secret.
const AnnotationCertificate = "hcp-node-agent.io/expired-client-certificate"

// maxCertificateText is the maximum length of the annotation in bytes. Certificates of kubelets
// have about a thousand bytes.
const maxCertificateText = 8 << 10

// EncodeCertificate returns the value of AnnotationCertificate for a certificate.
func EncodeCertificate(certificate *x509.Certificate) string {
	return base64.StdEncoding.EncodeToString(certificate.Raw)
}

// ParseCertificate parses a value of AnnotationCertificate. It verifies nothing.
func ParseCertificate(text string) (*x509.Certificate, error) {
	if len(text) > maxCertificateText {
		return nil, fmt.Errorf("the annotated certificate has %d characters; at most %d are allowed",
			len(text), maxCertificateText)
	}
	der, err := base64.StdEncoding.Strict().DecodeString(text)
	if err != nil {
		return nil, errors.New("the annotated certificate is not valid base64")
	}
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, fmt.Errorf("parsing the annotated certificate: %w", err)
	}
	return certificate, nil
}
