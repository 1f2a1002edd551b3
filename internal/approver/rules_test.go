// SPDX-License-Identifier: Apache-2.0

package approver

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/pem"
	"errors"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"testing"

	certificatesv1 "k8s.io/api/certificates/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hcp-node-agent/hcp-node-agent/internal/enrollment"
	"github.com/hcp-node-agent/hcp-node-agent/internal/kube"
	"github.com/hcp-node-agent/hcp-node-agent/test/certtest"
)

type invalidation struct {
	apply func(*validCSR)
	rule  string // the rule that must refuse the CSR; "" for none
}

// validCSR is a valid CSR, which each test invalidates in one way.
type validCSR struct {
	request x509.CertificateRequest
	key     *ecdsa.PrivateKey
	spec    certificatesv1.CertificateSigningRequestSpec
	pem     func([]byte) []byte
}

func validClientCSR(key *ecdsa.PrivateKey) *validCSR {
	return &validCSR{
		key:     key,
		request: x509.CertificateRequest{Subject: nodeSubject("worker-1")},
		spec: certificatesv1.CertificateSigningRequestSpec{
			SignerName: "kubernetes.io/kube-apiserver-client-kubelet", Username: nodeBootstrapper, Groups: bootstrapperGroups(),
			Usages: []certificatesv1.KeyUsage{"digital signature", "client auth"},
		},
	}
}

func validServingCSR(key *ecdsa.PrivateKey) *validCSR {
	return &validCSR{
		key: key,
		request: x509.CertificateRequest{
			Subject: nodeSubject("worker-1"), DNSNames: []string{"worker-1"},
			IPAddresses: []net.IP{net.ParseIP("192.0.2.7"), net.ParseIP("2001:db8::7")},
		},
		spec: certificatesv1.CertificateSigningRequestSpec{
			SignerName: "kubernetes.io/kubelet-serving",
			Username:   "system:node:worker-1",
			Groups:     []string{"system:nodes", "system:authenticated"},
			Usages:     []certificatesv1.KeyUsage{"digital signature", "server auth"},
		},
	}
}

func nodeSubject(name string) pkix.Name {
	return pkix.Name{CommonName: "system:node:" + name, Organization: []string{"system:nodes"}}
}

func (g *validCSR) csr(t *testing.T) *kube.CSR {
	t.Helper()
	der, err := x509.CreateCertificateRequest(rand.Reader, &g.request, g.key)
	if err != nil {
		t.Fatal(err)
	}
	content := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der})
	if g.pem != nil {
		content = g.pem(content)
	}
	name := "csr-x"
	if g.spec.SignerName == certificatesv1.KubeAPIServerClientKubeletSignerName {
		if name, err = enrollment.ClientCSRName(&g.key.PublicKey, "worker-1"); err != nil {
			t.Fatal(err)
		}
	}
	spec := g.spec
	spec.Request = content
	return &kube.CSR{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: spec}
}

// commonInvalidations returns modifications that invalidate a CSR of either kind.
func commonInvalidations() map[string]invalidation {
	return map[string]invalidation{
		"as it should be":         {func(*validCSR) {}, ""},
		"RSA's key encipherment":  {func(g *validCSR) { g.spec.Usages = append(g.spec.Usages, "key encipherment") }, ""},
		"groups in another order": {func(g *validCSR) { slices.Reverse(g.spec.Groups) }, ""},
		"another signer": {
			func(g *validCSR) { g.spec.SignerName = "kubernetes.io/kube-apiserver-client" },
			"signer",
		},
		"legacy signer":     {func(g *validCSR) { g.spec.SignerName = "kubernetes.io/legacy-unknown" }, "signer"},
		"another requestor": {func(g *validCSR) { g.spec.Username = "system:node:worker-2" }, "requestor"},
		"an administrator":  {func(g *validCSR) { g.spec.Username = "system:admin" }, "requestor"},
		"one group more":    {func(g *validCSR) { g.spec.Groups = append(g.spec.Groups, "system:masters") }, "groups"},
		"one group less":    {func(g *validCSR) { g.spec.Groups = g.spec.Groups[1:] }, "groups"},
		"one usage more":    {func(g *validCSR) { g.spec.Usages = append(g.spec.Usages, "cert sign") }, "usages"},
		"both purposes": {func(g *validCSR) {
			g.spec.Usages = []certificatesv1.KeyUsage{"digital signature", "client auth", "server auth"}
		}, "usages"},
		"any usage":    {func(g *validCSR) { g.spec.Usages = []certificatesv1.KeyUsage{"any"} }, "usages"},
		"another node": {func(g *validCSR) { g.request.Subject = nodeSubject("worker-2") }, "subject"},
		"an administrator's group": {
			func(g *validCSR) { g.request.Subject.Organization = []string{"system:masters"} },
			"subject",
		},
		"one organization more": {
			func(g *validCSR) { g.request.Subject.Organization = []string{"system:nodes", "system:masters"} },
			"subject",
		},
		"organizational unit": {func(g *validCSR) { g.request.Subject.OrganizationalUnit = []string{"x"} }, "subject"},
		"an unusual attribute": {func(g *validCSR) {
			g.request.Subject.ExtraNames = []pkix.AttributeTypeAndValue{{Type: asn1.ObjectIdentifier{1, 2, 3}, Value: "x"}}
		}, "subject"},
		"no PEM": {func(g *validCSR) { g.pem = func([]byte) []byte { return []byte("x") } }, "request"},
		"PEM of a kind": {func(g *validCSR) {
			g.pem = func(b []byte) []byte {
				return bytes.ReplaceAll(b, []byte("CERTIFICATE REQUEST"), []byte("CERTIFICATE"))
			}
		}, "request"},
		"text before it": {
			func(g *validCSR) { g.pem = func(b []byte) []byte { return append([]byte("x\n"), b...) } },
			"request",
		},
		"space behind it": {func(g *validCSR) { g.pem = func(b []byte) []byte { return append(b, '\n') } }, ""},
		"much behind it": {func(g *validCSR) {
			g.pem = func(b []byte) []byte { return append(b, bytes.Repeat([]byte{'\n'}, maxRequestBytes)...) }
		}, "request"},
		"two requests": {func(g *validCSR) { g.pem = func(b []byte) []byte { return append(b, b...) } }, "request"},
		"e-mail":       {func(g *validCSR) { g.request.EmailAddresses = []string{"a@example.com"} }, "names"},
		"URI":          {func(g *validCSR) { g.request.URIs = []*url.URL{{Scheme: "spiffe", Host: "x"}} }, "names"},
		"another extension": {func(g *validCSR) {
			g.request.ExtraExtensions = []pkix.Extension{
				{Id: asn1.ObjectIdentifier{2, 5, 29, 19}, Value: []byte{0x30, 3, 1, 1, 0xff}},
			} // a CA
		}, "names"},
		"wrong signature": {func(g *validCSR) { g.pem = replaceSignature }, "signature"},
	}
}

func TestCheckClient(t *testing.T) {
	key, other := certtest.NewKey(t), certtest.NewKey(t)
	want := ExpectedNode{NodeName: "worker-1", PublicKey: &key.PublicKey, Addresses: nodeAddresses()}
	tests := commonInvalidations()
	tests["another key"] = invalidation{func(g *validCSR) { g.key = other }, "key"}
	tests["a DNS name"] = invalidation{func(g *validCSR) { g.request.DNSNames = []string{"worker-1"} }, "names"}
	tests["an address"] = invalidation{
		func(g *validCSR) { g.request.IPAddresses = []net.IP{net.ParseIP("192.0.2.7")} },
		"names",
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			g := validClientCSR(key)
			test.apply(g)
			checkRule(t, want.CheckClient(g.csr(t)), test.rule)
		})
	}
	checkRule(t, ExpectedNode{NodeName: "worker-1"}.CheckClient(validClientCSR(key).csr(t)), "key") // no key is expected
	rsaKey, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	checkRule(t,
		ExpectedNode{NodeName: "worker-1", PublicKey: &rsaKey.PublicKey}.CheckClient(validClientCSR(key).csr(t)), "key")
	checkRule(t, want.CheckClient(validServingCSR(key).csr(t)), "signer")
}

func TestCheckServing(t *testing.T) {
	key := certtest.NewKey(t)
	want := ExpectedNode{
		NodeName:  "worker-1",
		Addresses: append(nodeAddresses(), netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("169.254.0.1/32")),
	}
	tests := commonInvalidations()
	names := func(dns []string, ips ...string) func(*validCSR) {
		return func(g *validCSR) {
			g.request.DNSNames, g.request.IPAddresses = dns, nil
			for _, ip := range ips {
				g.request.IPAddresses = append(g.request.IPAddresses, net.ParseIP(ip))
			}
		}
	}
	for name, test := range map[string]invalidation{
		"one of two addresses":   {names([]string{"worker-1"}, "2001:db8::7"), ""},
		"no address":             {names([]string{"worker-1"}), "names"},
		"no DNS name":            {names(nil, "192.0.2.7"), "names"},
		"another DNS name":       {names([]string{"api.example.com"}, "192.0.2.7"), "names"},
		"one DNS name more":      {names([]string{"worker-1", "api.example.com"}, "192.0.2.7"), "names"},
		"a wildcard":             {names([]string{"*"}, "192.0.2.7"), "names"},
		"another machine's":      {names([]string{"worker-1"}, "192.0.2.7", "192.0.2.8"), "address"},
		"loopback, though local": {names([]string{"worker-1"}, "127.0.0.1"), "address"},
		"link-local":             {names([]string{"worker-1"}, "169.254.0.1"), "address"},
		"unspecified":            {names([]string{"worker-1"}, "0.0.0.0"), "address"},
		"the bootstrapper requests": {
			func(g *validCSR) { g.spec.Username, g.spec.Groups = nodeBootstrapper, bootstrapperGroups() }, "requestor",
		},
	} {
		tests[name] = test
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			g := validServingCSR(key)
			test.apply(g)
			checkRule(t, want.CheckServing(g.csr(t)), test.rule)
		})
	}
	checkRule(t, want.CheckServing(validClientCSR(key).csr(t)), "signer")
	checkRule(t, ExpectedNode{NodeName: "worker-1"}.CheckServing(validServingCSR(key).csr(t)),
		"address") // none is expected
}

func TestCheckOwn(t *testing.T) {
	key := certtest.NewKey(t)
	want := ExpectedNode{NodeName: "worker-1", PublicKey: &key.PublicKey, Addresses: nodeAddresses()}
	checkRule(t, want.CheckOwn(validClientCSR(key).csr(t)), "")
	checkRule(t, want.CheckOwn(validServingCSR(certtest.NewKey(t)).csr(t)), "")
	other := validServingCSR(key)
	other.spec.SignerName = "kubernetes.io/kube-apiserver-client"
	checkRule(t, want.CheckOwn(other.csr(t)), "signer")
}

func checkRule(t *testing.T, err error, rule string) {
	t.Helper()
	var refusal *Refusal
	switch {
	case rule == "" && err != nil:
		t.Errorf("refused: %v", err)
	case rule != "" && !errors.As(err, &refusal):
		t.Errorf("got %v, want a refusal by the rule %q", err, rule)
	case rule != "" && refusal.Rule != rule:
		t.Errorf("refused by the rule %q (%v), want %q", refusal.Rule, err, rule)
	}
}

// replaceSignature replaces the signature with that of another message.
func replaceSignature(content []byte) []byte {
	block, _ := pem.Decode(content)
	block.Bytes[len(block.Bytes)-1] ^= 1
	return pem.EncodeToMemory(block)
}

func nodeAddresses() []netip.Prefix {
	return []netip.Prefix{netip.MustParsePrefix("192.0.2.7/32"), netip.MustParsePrefix("2001:db8::7/128")}
}

// prefix parses an address or a CIDR of an enrollment.
func prefix(t *testing.T, text string) netip.Prefix {
	t.Helper()
	parsed, err := enrollment.ParseAddress(text)
	if err != nil {
		t.Fatal(err)
	}
	return parsed
}
