// SPDX-License-Identifier: Apache-2.0

package enrollment

import (
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
)

// AnnotationCertificate is the annotation of a CSR with the node's previous client certificate
// (base64 of DER), which has the same key. It identifies a node that has joined with a token and
// whose client certificate has expired. Certificates are public, so the annotation is no secret.
const AnnotationCertificate = "node.hcp-agent.io/expired-client-certificate"

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
