// SPDX-License-Identifier: Apache-2.0

//go:build controlplane

package approver

import (
	"context"
	"crypto/ecdsa"
	"crypto/x509/pkix"
	"fmt"
	"net"
	"os"
	"strings"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/util/cert"

	"github.com/hcp-node-agent/hcp-node-agent/internal/kube"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/test/bed"
	"github.com/hcp-node-agent/hcp-node-agent/test/certtest"
)

// plane is the control plane that all tests of this package share.
var plane *bed.ControlPlane

func TestMain(m *testing.M) {
	os.Exit(bed.RunTests(func(c *bed.ControlPlane) { plane = c }, func() int {
		if err := grantRights(context.Background()); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		return m.Run()
	}))
}

// client returns a client for the kubeconfig at path, using the API server address that is
// reachable from the test. If as is set, the client impersonates that user.
func client(t *testing.T, path string, as rest.ImpersonationConfig) kubernetes.Interface {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("https://"+plane.APIForward, path)
	if err != nil {
		t.Fatal(err)
	}
	config.Impersonate = as
	clients, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return clients
}

func bootstrapClient(t *testing.T) kubernetes.Interface {
	return client(t, plane.BootstrapKubeconfig, rest.ImpersonationConfig{})
}

func adminClient(t *testing.T) kubernetes.Interface {
	return client(t, plane.Kubeconfig, rest.ImpersonationConfig{})
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

// csrConditions returns the conditions of a CSR as "type reason".
func csrConditions(t *testing.T, name string) string {
	t.Helper()
	csr, err := adminClient(t).CertificatesV1().CertificateSigningRequests().Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, condition := range csr.Status.Conditions {
		all = append(all, string(condition.Type)+" "+condition.Reason)
	}
	return strings.Join(all, ", ")
}

func readKubeconfig(t *testing.T, path string) []byte {
	t.Helper()
	file, err := clientcmd.LoadFromFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, cluster := range file.Clusters {
		cluster.Server = "https://" + plane.APIForward
	}
	content, err := clientcmd.Write(*file)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

const approvedByAgent = "Approved " + ApprovedReason

func TestControlPlaneApprovesOnlyOwnClientCSR(t *testing.T) {
	kubeconfig := readKubeconfig(t, plane.ApproverKubeconfig)
	key, other := certtest.NewKey(t), certtest.NewKey(t)
	want := ExpectedNode{NodeName: "own", PublicKey: &key.PublicKey, Addresses: nodeAddresses()}
	own := submitClient(t, bootstrapClient(t), key, nodeSubject("own"))
	if err := ApproveOwn(t.Context(), kubeconfig, want, own); err != nil {
		t.Fatalf("ApproveOwn() = %v", err)
	}
	if err := ApproveOwn(t.Context(), kubeconfig, want, own); err != nil || csrConditions(t, own) != approvedByAgent {
		t.Errorf("the second ApproveOwn() = %v; the CSR is %q", err, csrConditions(t, own))
	}

	hostile := map[string]string{
		"another key, same name":      submitClient(t, bootstrapClient(t), other, nodeSubject("own")),
		"same key, another node":      submitClient(t, bootstrapClient(t), key, nodeSubject("another")),
		"created by an administrator": submitClient(t, adminClient(t), key, nodeSubject("own")),
		"serving by the bootstrapper": submit(t, bootstrapClient(t), key, certificatesv1.KubeletServingSignerName,
			certificatesv1.UsageServerAuth, nodeSubject("own"), []string{"own"}, net.ParseIP("192.0.2.7")),
	}
	for name, csr := range hostile {
		err := ApproveOwn(t.Context(), kubeconfig, want, csr)
		if report.CodeOf(err) != report.ApprovalMissing || strings.Contains(csrConditions(t, csr), ApprovedReason) {
			t.Errorf("%s: ApproveOwn() = %v; the CSR is %q", name, err, csrConditions(t, csr))
		}
	}
}

func TestControlPlaneApprovesOwnServing(t *testing.T) {
	kubeconfig := readKubeconfig(t, plane.ApproverKubeconfig)
	node := client(t, plane.Kubeconfig,
		rest.ImpersonationConfig{UserName: "system:node:own", Groups: []string{"system:nodes"}})
	want := ExpectedNode{NodeName: "own", Addresses: nodeAddresses()}
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
	if err := ApproveOwn(t.Context(), kubeconfig, want, good); err != nil || csrConditions(t, good) != approvedByAgent {
		t.Errorf("ApproveOwn() = %v; the CSR is %q", err, csrConditions(t, good))
	}
	if err := ApproveOwn(t.Context(), kubeconfig, want, bad); report.CodeOf(err) != report.ApprovalMissing ||
		csrConditions(t, bad) != "" {
		t.Errorf("ApproveOwn() with an address of another machine = %v; the CSR is %q", err, csrConditions(t, bad))
	}
}

func TestControlPlaneApproverErrors(t *testing.T) {
	key := certtest.NewKey(t)
	want := ExpectedNode{NodeName: "errors", PublicKey: &key.PublicKey}
	own := submitClient(t, bootstrapClient(t), key, nodeSubject("errors"))

	err := ApproveOwn(t.Context(), readKubeconfig(t, plane.BootstrapKubeconfig), want, own)
	if report.CodeOf(err) != report.CredentialRefused || !strings.Contains(err.Error(), "lacks a permission") ||
		report.RemedyOf(err) != report.Remedy("oc adm certificate approve "+own) {
		t.Errorf("with a credential without the permission: %v (%s)", err, report.RemedyOf(err))
	}
	err = ApproveOwn(t.Context(), readKubeconfig(t, plane.ApproverKubeconfig), want, "csr-of-another-cluster")
	if report.CodeOf(err) != report.Usage || !strings.Contains(string(report.RemedyOf(err)), "management cluster") {
		t.Errorf("with a CSR that does not exist: %v (%s)", err, report.RemedyOf(err))
	}
	if csrConditions(t, own) != "" {
		t.Errorf("the CSR is %q", csrConditions(t, own))
	}
}

// allowCSRs grants a user the bootstrapper's right to create CSRs.
func allowCSRs(t *testing.T, user string) {
	t.Helper()
	if _, err := adminClient(t).RbacV1().ClusterRoleBindings().Create(t.Context(), &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "bootstrapper-"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "system:node-bootstrapper"},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}},
	}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the permission of "+user+" to create CSRs", func() bool {
		review, err := adminClient(
			t,
		).AuthorizationV1().SubjectAccessReviews().Create(
			t.Context(),
			&authorizationv1.SubjectAccessReview{
				Spec: authorizationv1.SubjectAccessReviewSpec{User: user, ResourceAttributes: &authorizationv1.ResourceAttributes{
					Verb: "create", Group: "certificates.k8s.io", Resource: "certificatesigningrequests",
				}},
			},
			metav1.CreateOptions{},
		)
		return err == nil && review.Status.Allowed
	})
}
