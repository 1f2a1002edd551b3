// SPDX-License-Identifier: Apache-2.0

package approver

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/hcp-node-agent/hcp-node-agent/internal/kube"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

const nodePrefix = "system:node:"

// Any user of a bootstrap kubeconfig can submit any number of CSRs of more than a megabyte,
// because the API server allows any text before and after the request. A request that is larger than any of kubelet's,
// or that begins differently, is not parsed.
const (
	maxRequestBytes = 16 << 10
	requestPrefix   = "-----BEGIN CERTIFICATE REQUEST-----"
)

// isPlainRequest reports whether the size and the first line of a request match kubelet's.
func isPlainRequest(content []byte) bool {
	return len(content) <= maxRequestBytes && bytes.HasPrefix(content, []byte(requestPrefix))
}

// parseRequest returns the only certificate request in a CSR's PEM text.
func parseRequest(content []byte) (*x509.CertificateRequest, error) {
	if !isPlainRequest(content) {
		return nil, refuse("request", fmt.Sprintf("%d bytes of other data", len(content)),
			fmt.Sprintf("one certificate request in PEM form, of at most %d bytes", maxRequestBytes))
	}
	block, rest := pem.Decode(content)
	if block == nil || block.Type != "CERTIFICATE REQUEST" || len(block.Headers) > 0 ||
		strings.TrimSpace(string(rest)) != "" {
		return nil, refuse("request", "other data", "one certificate request in PEM form")
	}
	request, err := x509.ParseCertificateRequest(block.Bytes)
	if err != nil {
		return nil, refuse("request", "unreadable ("+err.Error()+")", "one certificate request in PEM form")
	}
	return request, nil
}

// Limits of the RSA keys whose signatures are verified. The time to verify a signature is
// proportional to the square of the modulus's length and to the length of the exponent, and the
// requestor chooses both. FIPS 186-5 requires 2048 bits and the exponent 65537 or more.
const (
	minRSABits  = 2048
	maxRSABits  = 4096
	rsaExponent = 65537
)

// checkKey returns an error for a public key whose signatures must not be verified. Such a key
// has an unknown type, is too weak, or is so large that verification would stall the approver.
func checkKey(publicKey any) error {
	const expected = "ECDSA P-256, P-384 or P-521, Ed25519, or RSA of 2048 to 4096 bits with the exponent 65537"
	switch key := publicKey.(type) {
	case *rsa.PublicKey:
		if bits := key.N.BitLen(); bits < minRSABits || bits > maxRSABits || key.E != rsaExponent {
			return refuse("key", fmt.Sprintf("RSA of %d bits with the exponent %d", bits, key.E), expected)
		}
		return nil
	case *ecdsa.PublicKey:
		if slices.Contains([]elliptic.Curve{elliptic.P256(), elliptic.P384(), elliptic.P521()}, key.Curve) {
			return nil
		}
		return refuse("key", "ECDSA "+key.Params().Name, expected)
	case ed25519.PublicKey:
		return nil
	}
	return refuse("key", fmt.Sprintf("%T", publicKey), expected)
}

// checkRequest returns the certificate request of a CSR after the checks that apply to both kinds. It
// must be one well-formed request for a usable key, with exactly a node's subject. checkSignature
// checks the signature last.
func (n ExpectedNode) checkRequest(csr *kube.CSR) (*x509.CertificateRequest, error) {
	request, err := parseRequest(csr.Spec.Request)
	if err != nil {
		return nil, err
	}
	if err := checkKey(request.PublicKey); err != nil {
		return nil, err
	}
	// Names contains every attribute of the subject, including those without a field.
	if len(request.Subject.Names) != 2 || !isNodeSubject(request.Subject, n.NodeName) {
		return nil, refuse("subject", quoted(request.Subject), subjectText(n.NodeName))
	}
	return request, nil
}

// isNodeSubject reports whether the names in a subject are exactly those of a node.
func isNodeSubject(subject pkix.Name, node string) bool {
	return subject.CommonName == nodePrefix+node && slices.Equal(subject.Organization, []string{"system:nodes"})
}

// subjectText returns the subject of a node for the text of a refusal.
func subjectText(node string) string { return quoted("CN=" + nodePrefix + node + ",O=system:nodes") }

func quoted(value any) string { return fmt.Sprintf("%q", value) }

// checkSignature verifies that a request is signed with its own key. This is the only expensive
// rule, so it must be checked last.
func checkSignature(request *x509.CertificateRequest) error {
	if err := request.CheckSignature(); err != nil {
		return refuse("signature", "wrong", "one made with the requested key")
	}
	return nil
}

// plainName matches CSR names that can be printed and pasted unquoted. The API server accepts
// nearly any text as the name of a CSR, and the requestor chooses it.
var plainName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*$`)

// DisplayName returns a CSR's name for a message, quoted unless it is plain.
func DisplayName(name string) string {
	if plainName.MatchString(name) {
		return name
	}
	return strconv.Quote(report.Shorten(name, maxNodeNameLength))
}

// CommandFor returns a command for a CSR, or "" if the CSR's name must not be pasted into a
// shell.
func CommandFor(before, name, after string) string {
	if !plainName.MatchString(name) {
		return ""
	}
	return before + name + after
}
