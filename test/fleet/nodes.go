// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/util/cert"

	"github.com/hcp-node-agent/hcp-node-agent/internal/enrollment"
)

// node is a simulated node with its join token and the CSR that it submitted.
type node struct {
	name  string
	token *enrollment.Token
	csr   string
}

// newNode creates a node's join token and writes the enrollment to a directory.
func newNode(name string, ca []byte, enrollments string) (*node, error) {
	made, record, err := enrollment.New(enrollment.Options{NodeName: name, ClusterCA: ca}, time.Now())
	if err != nil {
		return nil, err
	}
	content, err := record.Encode()
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(enrollments, name+enrollment.EnrollmentSuffix), content, 0o600); err != nil {
		return nil, fmt.Errorf("writing the enrollment: %w", err)
	}
	return &node{name: name, token: made}, nil
}

// submitCSR submits the node's client CSR with its join token, as join does. If withForeign is set, it
// also submits two CSRs that must not be approved: one without a token, and one with copied
// annotations and another key.
func (n *node) submitCSR(ctx context.Context, client kubernetes.Interface, cluster []enrollment.Hash,
	withForeign bool,
) ([]string, error) {
	key, err := newKey()
	if err != nil {
		return nil, err
	}
	annotations, err := n.token.Sign(cluster, &key.PublicKey)
	if err != nil {
		return nil, err
	}
	own, err := enrollment.ClientCSRName(&key.PublicKey, n.name)
	if err != nil {
		return nil, fmt.Errorf("naming a CSR: %w", err)
	}
	if n.csr, err = submit(ctx, client, key, n.name, own, annotations); err != nil || !withForeign {
		return nil, err
	}
	thief, err := newKey()
	if err != nil {
		return nil, err
	}
	bare, err := submit(ctx, client, thief, n.name, "", nil)
	if err != nil {
		return nil, err
	}
	copied, err := submit(ctx, client, thief, n.name, "", annotations)
	return []string{bare, copied}, err
}

func newKey() (*ecdsa.PrivateKey, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("making a key: %w", err)
	}
	return key, nil
}

func submit(ctx context.Context, client kubernetes.Interface, key *ecdsa.PrivateKey, name, csrName string,
	annotations map[string]string,
) (string, error) {
	subject := pkix.Name{CommonName: "system:node:" + name, Organization: []string{"system:nodes"}}
	request, err := cert.MakeCSR(key, &subject, nil, nil)
	if err != nil {
		return "", fmt.Errorf("making a CSR: %w", err)
	}
	csr, err := client.CertificatesV1().CertificateSigningRequests().Create(ctx, &certificatesv1.CertificateSigningRequest{
		ObjectMeta: metav1.ObjectMeta{Name: csrName, GenerateName: "node-csr-", Annotations: annotations},
		Spec: certificatesv1.CertificateSigningRequestSpec{
			Request: request, SignerName: certificatesv1.KubeAPIServerClientKubeletSignerName,
			Usages: []certificatesv1.KeyUsage{certificatesv1.UsageDigitalSignature, certificatesv1.UsageClientAuth},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		return "", fmt.Errorf("submitting a CSR: %w", err)
	}
	return csr.Name, nil
}

// submitAll submits the CSRs of all nodes, eight at a time. It returns the CSRs that must not be
// approved.
func submitAll(ctx context.Context, client kubernetes.Interface, cluster []enrollment.Hash,
	nodes []*node,
) ([]string, error) {
	var mu sync.Mutex
	var foreign []string
	var errs []error
	var requesting sync.WaitGroup
	for worker := range 8 {
		requesting.Go(func() {
			for n := worker; n < len(nodes); n += 8 {
				more, err := nodes[n].submitCSR(ctx, client, cluster, n%10 == 0)
				mu.Lock()
				foreign, errs = append(foreign, more...), append(errs, err)
				mu.Unlock()
			}
		})
	}
	requesting.Wait()
	return foreign, errors.Join(errs...)
}
