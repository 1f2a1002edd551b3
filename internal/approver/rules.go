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
)

// Want is what is known of the node whose CSRs may be approved.
type Want struct {
	NodeName  string
	PublicKey crypto.PublicKey // of the client CSR; a serving CSR has a key of kubelet's own
	Addresses []netip.Addr     // of the machine; none on lo, where the API server's own proxy address is
}

// Refusal is a rule that a CSR does not keep.
type Refusal struct {
	Rule  string // signer, requestor, groups, usages, request, signature, subject, names or key
	Found string
	Due   string
}

// Error says what was found and what was due.
func (r *Refusal) Error() string {
	is := "is"
	if strings.HasSuffix(r.Rule, "s") { // groups, usages, names
		is = "are"
	}
	return fmt.Sprintf("its %s %s %s, and not %s", r.Rule, is, r.Found, r.Due)
}

// refuse keeps what was found short: whoever asks has written it, and it is
// kept for as long as the CSR waits.
func refuse(rule string, found, due any) error {
	return &Refusal{Rule: rule, Found: shortenTo(300, fmt.Sprintf("%v", found)), Due: fmt.Sprintf("%v", due)}
}

// The identity that the bootstrap kubeconfig of a payload carries (HyperShift
// control-plane-operator, pki/kas.go; the same in a standalone cluster).
const bootstrapper = "system:serviceaccount:openshift-machine-config-operator:node-bootstrapper"

func bootstrapperGroups() []string {
	return []string{"system:serviceaccounts", "system:serviceaccounts:openshift-machine-config-operator", "system:authenticated"}
}

// Client tells whether a CSR is the node's own for its client certificate:
// asked by the bootstrapper, for the one key, exactly as kubelet asks, and
// nothing beside. A nil error means that it may be approved.
func (w Want) Client(csr *certificatesv1.CertificateSigningRequest) error {
	if err := envelope(csr, certificatesv1.KubeAPIServerClientKubeletSignerName, bootstrapper, bootstrapperGroups()); err != nil {
		return err
	}
	if err := usages(csr, certificatesv1.UsageClientAuth); err != nil {
		return err
	}
	request, err := w.request(csr)
	if err != nil {
		return err
	}
	if names := namesIn(request); len(names) > 0 || len(request.Extensions) > 0 {
		return refuse("names", fmt.Sprintf("%q (%d extensions)", names, len(request.Extensions)), "none")
	}
	key, comparable := w.PublicKey.(interface {
		Equal(other crypto.PublicKey) bool
	})
	if !comparable || !key.Equal(request.PublicKey) {
		return refuse("key", "another one", "this node's")
	}
	return checkSignature(request)
}

// Serving tells whether a CSR is the node's own for its serving certificate:
// asked by the node itself, for its name and for addresses of this machine.
func (w Want) Serving(csr *certificatesv1.CertificateSigningRequest) error {
	user := "system:node:" + w.NodeName
	if err := envelope(csr, certificatesv1.KubeletServingSignerName, user, []string{"system:nodes", "system:authenticated"}); err != nil {
		return err
	}
	if err := usages(csr, certificatesv1.UsageServerAuth); err != nil {
		return err
	}
	request, err := w.request(csr)
	if err != nil {
		return err
	}
	if len(request.Extensions) > 1 || len(request.EmailAddresses) > 0 || len(request.URIs) > 0 || !slices.Equal(request.DNSNames, []string{w.NodeName}) {
		return refuse("names", fmt.Sprintf("%q", namesIn(request)), fmt.Sprintf("the DNS name %q and addresses", w.NodeName))
	}
	if err := namesOfOtherKinds(request); err != nil {
		return err
	}
	if err := w.addresses(request); err != nil {
		return err
	}
	return checkSignature(request)
}

// Tags of the names in a certificate's subjectAltName (RFC 5280, 4.2.1.6) that
// kubelet asks for.
const (
	tagDNSName   = 2
	tagIPAddress = 7
)

// namesOfOtherKinds reports names that x509.CertificateRequest has no field for,
// such as otherName and directoryName. A signer may copy the whole extension.
func namesOfOtherKinds(request *x509.CertificateRequest) error {
	subjectAltName := asn1.ObjectIdentifier{2, 5, 29, 17}
	for _, extension := range request.Extensions {
		var names []asn1.RawValue
		rest, err := asn1.Unmarshal(extension.Value, &names)
		if !extension.Id.Equal(subjectAltName) || err != nil || len(rest) > 0 {
			return refuse("names", "in an extension "+extension.Id.String(), "in one subjectAltName")
		}
		for _, name := range names {
			if name.Class != asn1.ClassContextSpecific || (name.Tag != tagDNSName && name.Tag != tagIPAddress) {
				return refuse("names", fmt.Sprintf("of the kind %d", name.Tag), "DNS names and IP addresses alone")
			}
		}
	}
	return nil
}

func (w Want) addresses(request *x509.CertificateRequest) error {
	if len(request.IPAddresses) == 0 {
		// Of a kubelet whose Node has no address yet; it asks again when it has.
		return refuse("names", "without any address", "with the node's own")
	}
	for _, ip := range request.IPAddresses {
		address, valid := netip.AddrFromSlice(ip)
		address = address.Unmap()
		local := address.IsLoopback() || address.IsUnspecified() || address.IsMulticast() || address.IsLinkLocalUnicast()
		if !valid || local || !slices.Contains(w.Addresses, address) {
			return refuse("names", "with the address "+ip.String(), fmt.Sprintf("those of the node alone, %v", w.Addresses))
		}
	}
	return nil
}

// envelope checks what the API server itself has put around the request.
func envelope(csr *certificatesv1.CertificateSigningRequest, signer, user string, groups []string) error {
	if csr.Spec.SignerName != signer {
		return refuse("signer", fmt.Sprintf("%q", csr.Spec.SignerName), fmt.Sprintf("%q", signer))
	}
	if csr.Spec.Username != user {
		return refuse("requestor", fmt.Sprintf("%q", csr.Spec.Username), fmt.Sprintf("%q", user))
	}
	if !sameSet(csr.Spec.Groups, groups) {
		return refuse("groups", fmt.Sprintf("%q", csr.Spec.Groups), fmt.Sprintf("%q", groups))
	}
	return nil
}

// usages allows what kubelet asks for: the purpose, digital signature, and key
// encipherment with an RSA key.
func usages(csr *certificatesv1.CertificateSigningRequest, purpose certificatesv1.KeyUsage) error {
	least := []certificatesv1.KeyUsage{certificatesv1.UsageDigitalSignature, purpose}
	most := append(slices.Clone(least), certificatesv1.UsageKeyEncipherment)
	if !sameSet(csr.Spec.Usages, least) && !sameSet(csr.Spec.Usages, most) {
		return refuse("usages", fmt.Sprintf("%q", csr.Spec.Usages), fmt.Sprintf("%q", least))
	}
	return nil
}

func sameSet[T ~string](a, b []T) bool {
	a, b = slices.Clone(a), slices.Clone(b)
	slices.Sort(a)
	slices.Sort(b)
	return slices.Equal(slices.Compact(a), slices.Compact(b))
}

func namesIn(request *x509.CertificateRequest) []string {
	names := slices.Concat(request.DNSNames, request.EmailAddresses)
	for _, ip := range request.IPAddresses {
		names = append(names, ip.String())
	}
	for _, uri := range request.URIs {
		names = append(names, uri.String())
	}
	return names
}
