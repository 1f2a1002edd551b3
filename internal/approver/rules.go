// SPDX-License-Identifier: Apache-2.0

package approver

import (
	"crypto"
	"crypto/x509"
	"encoding/asn1"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	certificatesv1 "k8s.io/api/certificates/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/hcp-node-agent/hcp-node-agent/internal/enrollment"
	"github.com/hcp-node-agent/hcp-node-agent/internal/kube"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// ExpectedNode describes the node whose CSRs may be approved.
type ExpectedNode struct {
	NodeName  string
	PublicKey crypto.PublicKey // of the client CSR; kubelet generates another key for a serving CSR
	Addresses []netip.Prefix   // of the host, without those on lo, where the API server's local proxy listens
}

// Refusal is an error for a CSR that breaks a rule.
type Refusal struct {
	Rule     string // signer, requestor, groups, usages, request, signature, subject, names, key or certificate
	Found    string
	Expected string
}

// ruleAddress is the rule about the addresses of a serving certificate.
const ruleAddress = "address"

// Error returns the broken rule, the found value and the expected one.
func (r *Refusal) Error() string {
	if r.Rule == ruleAddress {
		return fmt.Sprintf("it requests %s; the node has %s", r.Found, r.Expected)
	}
	return fmt.Sprintf("invalid %s: found %s, expected %s", r.Rule, r.Found, r.Expected)
}

// refuse returns a Refusal. It truncates found, which the requestor chooses and which is kept
// while the CSR is pending.
func refuse(rule string, found, expected any) error {
	return &Refusal{
		Rule: rule, Found: report.Shorten(fmt.Sprintf("%v", found), 300), Expected: fmt.Sprintf("%v", expected),
	}
}

// nodeBootstrapper is the identity of the bootstrap kubeconfig in a payload (HyperShift
// control-plane-operator, pki/kas.go; the same in a standalone cluster).
const nodeBootstrapper = "system:serviceaccount:openshift-machine-config-operator:node-bootstrapper"

func bootstrapperGroups() []string {
	return []string{
		"system:serviceaccounts", "system:serviceaccounts:openshift-machine-config-operator", "system:authenticated",
	}
}

// CheckOwn returns an error unless the CSR is the node's own client or serving CSR.
func (n ExpectedNode) CheckOwn(csr *kube.CSR) error {
	if IsServing(csr) {
		return n.CheckServing(csr)
	}
	return n.CheckClient(csr)
}

// CheckClient returns an error unless the CSR is the node's own for its client certificate. The
// requestor must be the bootstrapper, the key must be PublicKey, and the request must be exactly
// as kubelet submits it.
func (n ExpectedNode) CheckClient(csr *kube.CSR) error {
	signer := certificatesv1.KubeAPIServerClientKubeletSignerName
	if err := checkRequestor(csr, signer, nodeBootstrapper, bootstrapperGroups()); err != nil {
		return err
	}
	if err := checkUsages(csr, certificatesv1.UsageClientAuth); err != nil {
		return err
	}
	request, err := n.checkRequest(csr)
	if err != nil {
		return err
	}
	if names := requestedNames(request); len(names) > 0 || len(request.Extensions) > 0 {
		return refuse("names", fmt.Sprintf("%q (X.509 extensions: %d)", names, len(request.Extensions)), "none")
	}
	if !enrollment.SamePublicKey(n.PublicKey, request.PublicKey) {
		return refuse("key", "a different key", "this node's key")
	}
	return checkSignature(request)
}

// CheckServing returns an error unless the CSR is the node's own for its serving certificate. The
// requestor must be the node, and the names must be the node's name and addresses of this host.
func (n ExpectedNode) CheckServing(csr *kube.CSR) error {
	groups := []string{"system:nodes", "system:authenticated"}
	err := checkRequestor(csr, certificatesv1.KubeletServingSignerName, nodePrefix+n.NodeName, groups)
	if err != nil {
		return err
	}
	if err := checkUsages(csr, certificatesv1.UsageServerAuth); err != nil {
		return err
	}
	request, err := n.checkRequest(csr)
	if err != nil {
		return err
	}
	if len(request.Extensions) > 1 || len(request.EmailAddresses) > 0 || len(request.URIs) > 0 ||
		!slices.Equal(request.DNSNames, []string{n.NodeName}) {
		return refuse("names", quoted(requestedNames(request)), "the DNS name "+quoted(n.NodeName)+" and addresses")
	}
	if err := checkNameTypes(request); err != nil {
		return err
	}
	if err := n.checkAddresses(request); err != nil {
		return err
	}
	return checkSignature(request)
}

// Tags of the name types in a subjectAltName (RFC 5280, 4.2.1.6) that kubelet requests.
const (
	tagDNSName   = 2
	tagIPAddress = 7
)

// checkNameTypes returns an error for names that x509.CertificateRequest has no field for,
// such as otherName and directoryName. A signer may copy the whole extension.
func checkNameTypes(request *x509.CertificateRequest) error {
	subjectAltName := asn1.ObjectIdentifier{2, 5, 29, 17}
	for _, extension := range request.Extensions {
		var names []asn1.RawValue
		rest, err := asn1.Unmarshal(extension.Value, &names)
		if !extension.Id.Equal(subjectAltName) || err != nil || len(rest) > 0 {
			return refuse("names", "extension "+extension.Id.String(), "one subjectAltName")
		}
		for _, name := range names {
			if name.Class != asn1.ClassContextSpecific || (name.Tag != tagDNSName && name.Tag != tagIPAddress) {
				return refuse("names", fmt.Sprintf("a name of type %d", name.Tag), "only DNS names and IP addresses")
			}
		}
	}
	return nil
}

// bitsOf returns the length of the longest prefix that contains an address, 0 if none does.
func bitsOf(address netip.Addr, prefixes []netip.Prefix) int {
	longest := 0
	for _, prefix := range prefixes {
		if prefix.Contains(address) {
			longest = max(longest, prefix.Bits())
		}
	}
	return longest
}

func (n ExpectedNode) checkAddresses(request *x509.CertificateRequest) error {
	if len(request.IPAddresses) == 0 {
		// The Node had no address yet. Kubelet submits another CSR when the Node has one.
		return refuse("names", "no address", "the node's addresses")
	}
	for _, ip := range request.IPAddresses {
		address, valid := netip.AddrFromSlice(ip)
		address = address.Unmap()
		local := address.IsLoopback() || address.IsUnspecified() || address.IsMulticast() || address.IsLinkLocalUnicast()
		if !valid || local || bitsOf(address, n.Addresses) == 0 {
			return refuse(ruleAddress, ip, strings.Join(enrollment.FormatAddresses(n.Addresses), ", "))
		}
	}
	return nil
}

// checkRequestor checks the fields that the API server has set.
func checkRequestor(csr *kube.CSR, signer, user string, groups []string) error {
	if csr.Spec.SignerName != signer {
		return refuse("signer", quoted(csr.Spec.SignerName), quoted(signer))
	}
	if csr.Spec.Username != user {
		return refuse("requestor", quoted(csr.Spec.Username), quoted(user))
	}
	if !sameSet(csr.Spec.Groups, groups) {
		return refuse("groups", quoted(csr.Spec.Groups), quoted(groups))
	}
	return nil
}

// checkUsages accepts the usages that kubelet requests: the purpose, digital signature and, with an
// RSA key, key encipherment.
func checkUsages(csr *kube.CSR, purpose certificatesv1.KeyUsage) error {
	required := []certificatesv1.KeyUsage{certificatesv1.UsageDigitalSignature, purpose}
	permitted := append(slices.Clone(required), certificatesv1.UsageKeyEncipherment)
	if !sameSet(csr.Spec.Usages, required) && !sameSet(csr.Spec.Usages, permitted) {
		return refuse("usages", quoted(csr.Spec.Usages), quoted(required))
	}
	return nil
}

func sameSet[T comparable](a, b []T) bool { return sets.New(a...).Equal(sets.New(b...)) }

func requestedNames(request *x509.CertificateRequest) []string {
	names := slices.Concat(request.DNSNames, request.EmailAddresses)
	for _, ip := range request.IPAddresses {
		names = append(names, ip.String())
	}
	for _, uri := range request.URIs {
		names = append(names, uri.String())
	}
	return names
}
