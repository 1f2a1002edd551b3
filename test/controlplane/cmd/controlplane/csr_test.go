// SPDX-License-Identifier: Apache-2.0

package main_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"net"
	"testing"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// csr is a node's CertificateSigningRequest and its key.
type csr struct {
	name string
	key  []byte
}

// request creates a CSR as kubelet does.
func request(t *testing.T, as kubernetes.Interface, signer, node string) csr {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.CertificateRequest{Subject: pkix.Name{
		CommonName: "system:node:" + node, Organization: []string{"system:nodes"},
	}}
	usages := []certificatesv1.KeyUsage{certificatesv1.UsageDigitalSignature, certificatesv1.UsageClientAuth}
	if signer == servingSigner {
		template.DNSNames, template.IPAddresses = []string{node}, []net.IP{net.IPv4(192, 0, 2, 100)}
		usages[1] = certificatesv1.UsageServerAuth
	}
	der, err := x509.CreateCertificateRequest(rand.Reader, template, key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	made, err := as.CertificatesV1().CertificateSigningRequests().Create(context.Background(),
		&certificatesv1.CertificateSigningRequest{
			ObjectMeta: metav1.ObjectMeta{GenerateName: node + "-"},
			Spec: certificatesv1.CertificateSigningRequestSpec{
				Request:    pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der}),
				SignerName: signer,
				Usages:     usages,
			},
		}, metav1.CreateOptions{})
	if err != nil {
		t.Fatalf("creating a CSR for %s: %v", signer, err)
	}
	return csr{made.Name, pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: private})}
}

// await waits for the certificate.
func (c csr) await(t *testing.T, as kubernetes.Interface) []byte {
	t.Helper()
	var certificate []byte
	until(t, "waiting for the certificate of "+c.name, func() (any, bool) {
		status := c.get(t, as).Status
		certificate = status.Certificate
		return status.Conditions, len(certificate) > 0
	})
	return certificate
}

func (c csr) conditions(t *testing.T, as kubernetes.Interface) []certificatesv1.CertificateSigningRequestCondition {
	t.Helper()
	return c.get(t, as).Status.Conditions
}

func (c csr) get(t *testing.T, as kubernetes.Interface) *certificatesv1.CertificateSigningRequest {
	t.Helper()
	got, err := as.CertificatesV1().CertificateSigningRequests().Get(context.Background(), c.name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func approve(ctx context.Context, as kubernetes.Interface, name string) error {
	csrs := as.CertificatesV1().CertificateSigningRequests()
	got, err := csrs.Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	got.Status.Conditions = append(got.Status.Conditions, certificatesv1.CertificateSigningRequestCondition{
		Type: certificatesv1.CertificateApproved, Status: corev1.ConditionTrue, Reason: "Test",
	})
	_, err = csrs.UpdateApproval(ctx, name, got, metav1.UpdateOptions{})
	return err
}
