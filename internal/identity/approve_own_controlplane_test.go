// SPDX-License-Identifier: Apache-2.0

//go:build controlplane

package identity

import (
	"crypto/ecdsa"
	"crypto/x509/pkix"
	"net"
	"net/netip"
	"strings"
	"testing"

	certificatesv1 "k8s.io/api/certificates/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/util/cert"

	"github.com/hcp-node-agent/hcp-node-agent/internal/approver"
	"github.com/hcp-node-agent/hcp-node-agent/internal/enrollment"
	"github.com/hcp-node-agent/hcp-node-agent/internal/kube"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/test/certtest"
	"github.com/hcp-node-agent/hcp-node-agent/test/csrtest"
	"github.com/hcp-node-agent/hcp-node-agent/test/kubetest"
)

// ownAddresses returns the addresses of the host.
func ownAddresses() []netip.Prefix {
	return enrollment.SinglePrefixes(parseAddresses("192.0.2.7", "2001:db8::7"))
}

func submit(t *testing.T, who kubernetes.Interface, key *ecdsa.PrivateKey, signer string,
	usage certificatesv1.KeyUsage, subject pkix.Name, names []string, ips ...net.IP,
) string {
	t.Helper()
	request, err := cert.MakeCSR(key, &subject, names, ips)
	if err != nil {
		t.Fatal(err)
	}
	csr, err := who.CertificatesV1().CertificateSigningRequests().Create(t.Context(), &kube.CSR{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "csr-"},
		Spec: certificatesv1.CertificateSigningRequestSpec{
			Request: request, SignerName: signer, Usages: []certificatesv1.KeyUsage{certificatesv1.UsageDigitalSignature, usage},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return csr.Name
}

func submitClient(t *testing.T, who kubernetes.Interface, key *ecdsa.PrivateKey, subject pkix.Name) string {
	t.Helper()
	return submit(t, who, key, certificatesv1.KubeAPIServerClientKubeletSignerName, certificatesv1.UsageClientAuth,
		subject, nil)
}

const approvedByAgent = "Approved " + approver.ApprovedReason

func TestControlPlaneApprovesOnlyOwnClientCSR(t *testing.T) {
	kubeconfig := csrtest.Kubeconfig(t, kubetest.Plane.ApproverKubeconfig)
	key, other := certtest.NewKey(t), certtest.NewKey(t)
	want := approver.ExpectedNode{NodeName: "own", PublicKey: &key.PublicKey, Addresses: ownAddresses()}
	own := submitClient(t, csrtest.Bootstrapper(t), key, nodeSubject("own"))
	if err := ApproveOwn(t.Context(), kubeconfig, want, own); err != nil {
		t.Fatalf("ApproveOwn() = %v", err)
	}
	if err := ApproveOwn(t.Context(), kubeconfig, want, own); err != nil || csrtest.Conditions(t, own) != approvedByAgent {
		t.Errorf("the second ApproveOwn() = %v; the CSR is %q", err, csrtest.Conditions(t, own))
	}

	hostile := map[string]string{
		"another key, same name":      submitClient(t, csrtest.Bootstrapper(t), other, nodeSubject("own")),
		"same key, another node":      submitClient(t, csrtest.Bootstrapper(t), key, nodeSubject("another")),
		"created by an administrator": submitClient(t, kubetest.AdminClient(t), key, nodeSubject("own")),
		"serving by the bootstrapper": submit(t, csrtest.Bootstrapper(t), key, certificatesv1.KubeletServingSignerName,
			certificatesv1.UsageServerAuth, nodeSubject("own"), []string{"own"}, net.ParseIP("192.0.2.7")),
	}
	for name, csr := range hostile {
		err := ApproveOwn(t.Context(), kubeconfig, want, csr)
		if report.CodeOf(err) != report.ApprovalMissing ||
			strings.Contains(csrtest.Conditions(t, csr), approver.ApprovedReason) {
			t.Errorf("%s: ApproveOwn() = %v; the CSR is %q", name, err, csrtest.Conditions(t, csr))
		}
	}
}

func TestControlPlaneApprovesOwnServing(t *testing.T) {
	kubeconfig := csrtest.Kubeconfig(t, kubetest.Plane.ApproverKubeconfig)
	node := csrtest.NodeClient(t, "own")
	want := approver.ExpectedNode{NodeName: "own", Addresses: ownAddresses()}
	serving := func(ips ...net.IP) string {
		return submit(
			t,
			node,
			certtest.NewKey(t),
			certificatesv1.KubeletServingSignerName,
			certificatesv1.UsageServerAuth,
			nodeSubject("own"),
			[]string{"own"},
			ips...)
	}
	good, bad := serving(net.ParseIP("192.0.2.7")), serving(net.ParseIP("192.0.2.7"), net.ParseIP("192.0.2.1"))
	if err := ApproveOwn(t.Context(), kubeconfig, want, good); err != nil ||
		csrtest.Conditions(t, good) != approvedByAgent {
		t.Errorf("ApproveOwn() = %v; the CSR is %q", err, csrtest.Conditions(t, good))
	}
	if err := ApproveOwn(t.Context(), kubeconfig, want, bad); report.CodeOf(err) != report.ApprovalMissing ||
		csrtest.Conditions(t, bad) != "" {
		t.Errorf("ApproveOwn() with an address of another machine = %v; the CSR is %q", err, csrtest.Conditions(t, bad))
	}
}

func TestControlPlaneApproverErrors(t *testing.T) {
	key := certtest.NewKey(t)
	want := approver.ExpectedNode{NodeName: "errors", PublicKey: &key.PublicKey}
	own := submitClient(t, csrtest.Bootstrapper(t), key, nodeSubject("errors"))

	err := ApproveOwn(t.Context(), csrtest.Kubeconfig(t, kubetest.Plane.BootstrapKubeconfig), want, own)
	if report.CodeOf(err) != report.CredentialRefused || !strings.Contains(err.Error(), "lacks a permission") ||
		report.RemedyOf(err) != report.Remedy("oc adm certificate approve "+own) {
		t.Errorf("with a credential without the permission: %v (%s)", err, report.RemedyOf(err))
	}
	err = ApproveOwn(t.Context(), csrtest.Kubeconfig(t, kubetest.Plane.ApproverKubeconfig), want, "csr-of-another-cluster")
	if report.CodeOf(err) != report.Usage || !strings.Contains(string(report.RemedyOf(err)), "management cluster") {
		t.Errorf("with a CSR that does not exist: %v (%s)", err, report.RemedyOf(err))
	}
	if csrtest.Conditions(t, own) != "" {
		t.Errorf("the CSR is %q", csrtest.Conditions(t, own))
	}
}
