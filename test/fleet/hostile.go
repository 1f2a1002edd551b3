// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/util/cert"

	"github.com/hcp-node-agent/hcp-node-agent/internal/enrollment"
	"github.com/hcp-node-agent/hcp-node-agent/internal/kube"
)

// hostileShare is the number of nodes to one victim, as which others submit CSRs that must not be approved.
const hostileShare = 10

func newKey() (*ecdsa.PrivateKey, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("generating a key: %w", err)
	}
	return key, nil
}

// attackBefore submits CSRs as a node that has not joined yet, with a stolen bootstrap credential: without a proof,
// with the proof of another key, and with the join token of another node.
func (f *fleet) attackBefore(ctx context.Context, victim, other *node) error {
	keys := [2]*ecdsa.PrivateKey{}
	for i := range keys {
		var err error
		if keys[i], err = newKey(); err != nil {
			return err
		}
	}
	copied, err := victim.token.Sign(f.caHashes, &keys[1].PublicKey)
	if err != nil {
		return err
	}
	foreign, err := other.token.Sign(f.caHashes, &keys[0].PublicKey)
	if err != nil {
		return err
	}
	thief := keys[0]
	return errors.Join(f.submit(ctx, victim, thief, "", nil), f.submit(ctx, victim, thief, "", copied),
		f.submit(ctx, victim, thief, "", foreign))
}

// attackAfter submits CSRs as a node that has joined: with its join token and another key, and with the credential of
// the node, for the serving certificate of another node.
func (f *fleet) attackAfter(ctx context.Context, victim, other *node) error {
	key, err := newKey()
	if err != nil {
		return err
	}
	stolen, err := victim.token.Sign(f.caHashes, &key.PublicKey)
	if err != nil {
		return err
	}
	name, err := enrollment.ClientCSRName(&key.PublicKey, victim.name)
	if err != nil {
		return err
	}
	serving, _, err := servingCSR(victim.name, other.address)
	if err != nil {
		return err
	}
	return errors.Join(f.submit(ctx, victim, key, name, stolen), f.create(ctx, victim.kubelet.conn.Client, serving))
}

// submit submits a client CSR that must not be approved.
func (f *fleet) submit(
	ctx context.Context, victim *node, key *ecdsa.PrivateKey, csrName string, annotations map[string]string,
) error {
	subject := nodeSubject(victim.name)
	request, err := cert.MakeCSR(key, &subject, nil, nil)
	if err != nil {
		return fmt.Errorf("creating a CSR: %w", err)
	}
	return f.create(ctx, f.bootstrap, &kube.CSR{
		ObjectMeta: metav1.ObjectMeta{Name: csrName, GenerateName: "node-csr-", Annotations: annotations},
		Spec: certificatesv1.CertificateSigningRequestSpec{
			Request: request, SignerName: certificatesv1.KubeAPIServerClientKubeletSignerName,
			Usages: []certificatesv1.KeyUsage{certificatesv1.UsageDigitalSignature, certificatesv1.UsageClientAuth},
		},
	})
}

// create creates a CSR that must not be approved. It repeats a request that the API server refuses because it has too
// many: the client does so ten times only, and all nodes of a large fleet submit their CSRs with the same credential.
func (f *fleet) create(ctx context.Context, client *kube.Client, csr *kube.CSR) error {
	var created *kube.CSR
	err := wait.PollUntilContextCancel(ctx, time.Second, true, func(ctx context.Context) (_ bool, err error) {
		created, err = client.CSRs().Create(ctx, csr, metav1.CreateOptions{})
		if apierrors.IsTooManyRequests(err) {
			return false, nil
		}
		return true, err
	})
	if err != nil {
		return fmt.Errorf("submitting a CSR that must not be approved: %w", err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.hostile.Insert(created.Name)
	return nil
}
