// SPDX-License-Identifier: Apache-2.0

package approver

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/pem"
	"math/big"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/enrollment"
	"github.com/hcp-node-agent/hcp-node-agent/test/certtest"
)

// withKey returns a function that replaces the public key of a request. The signature of the
// request is then always invalid.
func withKey(t *testing.T, key any) func([]byte) []byte {
	t.Helper()
	public, err := x509.MarshalPKIXPublicKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return func(content []byte) []byte {
		type info struct {
			Version    int
			Subject    asn1.RawValue
			PublicKey  asn1.RawValue
			Attributes []asn1.RawValue `asn1:"tag:0"`
		}
		var request struct {
			Info      info
			Algorithm pkix.AlgorithmIdentifier
			Signature asn1.BitString
		}
		block, _ := pem.Decode(content)
		if _, err := asn1.Unmarshal(block.Bytes, &request); err != nil {
			t.Fatal(err)
		}
		request.Info.PublicKey = asn1.RawValue{FullBytes: public}
		if block.Bytes, err = asn1.Marshal(request); err != nil {
			t.Fatal(err)
		}
		return pem.EncodeToMemory(block)
	}
}

// newRSAPublicKey returns an RSA public key of the given size without generating a key.
func newRSAPublicKey(bits uint, exponent int) *rsa.PublicKey {
	modulus := new(big.Int).Lsh(big.NewInt(1), bits-1)
	return &rsa.PublicKey{N: modulus.Add(modulus, big.NewInt(1)), E: exponent}
}

// A request is refused because of its key before invalid signature: found verified: all signatures here
// are invalid, and only requests with usable keys are refused for the signature.
func TestUnusableKeyIsRefusedBeforeTheSignature(t *testing.T) {
	ecdsaOf := func(curve elliptic.Curve) *ecdsa.PublicKey {
		key, err := ecdsa.GenerateKey(curve, rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		return &key.PublicKey
	}
	edwards, _, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	signer := certtest.NewKey(t)
	for name, test := range map[string]struct {
		key  any
		rule string
	}{
		"RSA of 46,000 bits, slow exponent": {newRSAPublicKey(46_000, 1<<31-1), "key"},
		"RSA of 4097 bits":                  {newRSAPublicKey(4097, 65537), "key"},
		"RSA with a slow exponent":          {newRSAPublicKey(2048, 1<<31-1), "key"},
		"RSA of 1024 bits":                  {newRSAPublicKey(1024, 65537), "key"},
		"ECDSA P-224":                       {ecdsaOf(elliptic.P224()), "key"},
		"RSA of 2048 bits":                  {newRSAPublicKey(2048, 65537), "signature"},
		"RSA of 4096 bits":                  {newRSAPublicKey(4096, 65537), "signature"},
		"ECDSA P-521":                       {ecdsaOf(elliptic.P521()), "signature"},
		"Ed25519":                           {edwards, "signature"},
	} {
		client, serving := validClientCSR(signer), validServingCSR(signer)
		client.pem, serving.pem = withKey(t, test.key), withKey(t, test.key)
		checkRule(t, ExpectedNode{NodeName: "worker-1", PublicKey: test.key}.CheckClient(client.csr(t)), test.rule)
		checkRule(t, ExpectedNode{NodeName: "worker-1", Addresses: nodeAddresses()}.CheckServing(serving.csr(t)), test.rule)
		if t.Failed() {
			t.Fatalf("with the key %s", name)
		}
	}
}

// Requests that any bootstrapper can submit with the ID of a token must not cause a signature
// check of the request. The token's signature, the key and the other rules are checked first.
func TestDecideVerifiesTheRequestsSignatureLast(t *testing.T) {
	now := time.Now()
	ca := certtest.NewCA(t, "ca").PEM
	cluster, err := enrollment.CAHashes(ca)
	if err != nil {
		t.Fatal(err)
	}
	key := certtest.NewKey(t)
	mine := issue(t, "worker-1", ca, now, "192.0.2.7")
	other := issue(t, "worker-1", ca, now)
	facts := Facts{Now: now, CAHashes: cluster, UsedKeys: map[string]string{mine.ID: "SHA256:00"}}
	proofOf := func(made issuedToken, key any) map[string]string {
		annotations, err := made.Sign(cluster, key)
		if err != nil {
			t.Fatal(err)
		}
		annotations[enrollment.AnnotationID] = mine.ID
		return annotations
	}
	huge := newRSAPublicKey(46_000, 1<<31-1)
	grouped := func(g *validCSR) { g.spec.Groups = append(g.spec.Groups, "system:masters") }
	for name, test := range map[string]struct {
		spoil       func(*validCSR)
		annotations map[string]string
		reason      string
	}{
		"no proof": {
			func(g *validCSR) { g.pem = replaceSignature },
			map[string]string{enrollment.AnnotationID: mine.ID},
			"the CSR contains no signature",
		},
		"another's proof": {
			func(g *validCSR) { g.pem = replaceSignature }, proofOf(other, &key.PublicKey),
			"the signature of the CSR does not match",
		},
		"an oversized key": {
			func(g *validCSR) { g.pem = withKey(t, huge) }, proofOf(mine, huge), "invalid key: found RSA of 46000 bits",
		},
		"another group": {
			func(g *validCSR) { g.pem = replaceSignature; grouped(g) }, proofOf(mine, &key.PublicKey), "invalid groups: found",
		},
		"the signature only": {
			func(g *validCSR) { g.pem = replaceSignature }, proofOf(mine, &key.PublicKey), "invalid signature: found wrong",
		},
	} {
		g := validClientCSR(key)
		test.spoil(g)
		csr := g.csr(t)
		csr.Annotations = test.annotations
		if d := Decide(csr, byNode(mine.enrollment), facts); d.Outcome != Refused ||
			!strings.Contains(d.Reason, test.reason) {
			t.Errorf("%s: %s: %s, want %s", name, d.Outcome, d.Reason, test.reason)
		}
	}
	serving := validServingCSR(key)
	serving.pem = withKey(t, huge)
	if d := Decide(serving.csr(t), byNode(mine.enrollment), facts); d.Outcome != Refused ||
		!strings.Contains(d.Reason, "invalid key: found RSA of 46000 bits") {
		t.Errorf("serving: %s: %s", d.Outcome, d.Reason)
	}
}

// A subjectAltName is refused for every name that is neither a DNS name nor an IP address,
// including name types that x509.CertificateRequest has no field for.
func TestServingRefusesNamesOfOtherKinds(t *testing.T) {
	key := certtest.NewKey(t)
	want := ExpectedNode{NodeName: "worker-1", Addresses: []netip.Prefix{prefix(t, "192.0.2.7")}}
	name := func(tag int, content ...byte) asn1.RawValue {
		return asn1.RawValue{Class: asn1.ClassContextSpecific, Tag: tag, Bytes: content}
	}
	compound := func(tag int, content ...byte) asn1.RawValue {
		return asn1.RawValue{Class: asn1.ClassContextSpecific, Tag: tag, IsCompound: true, Bytes: content}
	}
	dns, ip := name(2, []byte("worker-1")...), name(7, 192, 0, 2, 7)
	for label, test := range map[string]struct {
		names []asn1.RawValue
		rule  string
	}{
		"DNS and IP":    {[]asn1.RawValue{dns, ip}, ""},
		"otherName":     {[]asn1.RawValue{dns, ip, compound(0, 6, 1, 42, 160, 2, 5, 0)}, "names"},
		"x400Address":   {[]asn1.RawValue{dns, ip, compound(3)}, "names"},
		"directoryName": {[]asn1.RawValue{dns, ip, compound(4, 48, 0)}, "names"},
		"ediPartyName":  {[]asn1.RawValue{dns, ip, compound(5)}, "names"},
		"registeredID":  {[]asn1.RawValue{dns, ip, name(8, 42)}, "names"},
	} {
		t.Run(label, func(t *testing.T) {
			value, err := asn1.Marshal(test.names)
			if err != nil {
				t.Fatal(err)
			}
			g := validServingCSR(key)
			g.request.DNSNames, g.request.IPAddresses = nil, nil
			g.request.ExtraExtensions = []pkix.Extension{{Id: asn1.ObjectIdentifier{2, 5, 29, 17}, Value: value}}
			checkRule(t, want.CheckServing(g.csr(t)), test.rule)
		})
	}
}
