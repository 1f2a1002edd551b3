package approver

import (
	"bytes"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"slices"
	"strings"

	certificatesv1 "k8s.io/api/certificates/v1"
)

const nodePrefix = "system:node:"

// Who has a bootstrap kubeconfig can submit CSRs of more than a megabyte, as many
// as the API server takes: it allows any text before and after the request. So
// few are asked for and held at a time, and what is larger than a kubelet's ever
// is, or begins otherwise, is not even parsed.
const (
	csrPage          = 10 // in one answer, which is in memory twice while it is read
	csrsHeld         = 40
	mostRequestBytes = 16 << 10
	requestBegins    = "-----BEGIN CERTIFICATE REQUEST-----"
)

// plain tells whether a request can be a kubelet's by its look.
func plain(content []byte) bool {
	return len(content) <= mostRequestBytes && bytes.HasPrefix(content, []byte(requestBegins))
}

// request parses what a CSR asks for, and checks what both kinds have in
// common: one well-formed request, signed by its own key, with a node's
// subject and nothing else in it.
func (w Want) request(csr *certificatesv1.CertificateSigningRequest) (*x509.CertificateRequest, error) {
	if !plain(csr.Spec.Request) {
		return nil, refuse("request", fmt.Sprintf("%d bytes of something else", len(csr.Spec.Request)), fmt.Sprintf("one certificate request in PEM form, of %d bytes at most", mostRequestBytes))
	}
	block, rest := pem.Decode(csr.Spec.Request)
	if block == nil || block.Type != "CERTIFICATE REQUEST" || len(block.Headers) > 0 || strings.TrimSpace(string(rest)) != "" {
		return nil, refuse("request", "something else", "one certificate request in PEM form")
	}
	request, err := x509.ParseCertificateRequest(block.Bytes)
	if err != nil {
		return nil, refuse("request", "unreadable ("+err.Error()+")", "one certificate request in PEM form")
	}
	if err := request.CheckSignature(); err != nil {
		return nil, refuse("signature", "wrong", "made with the key that it asks for")
	}
	user := "system:node:" + w.NodeName
	// Names has every attribute of the subject, also those that have no field.
	if len(request.Subject.Names) != 2 || request.Subject.CommonName != user || !slices.Equal(request.Subject.Organization, []string{"system:nodes"}) {
		return nil, refuse("subject", fmt.Sprintf("%q", request.Subject), fmt.Sprintf("%q", "CN="+user+",O=system:nodes"))
	}
	return request, nil
}
