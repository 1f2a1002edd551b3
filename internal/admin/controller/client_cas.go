// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"crypto/x509"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/hcp-node-agent/hcp-node-agent/internal/approver"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

const rightsRemedy = "oc --kubeconfig hosted.kubeconfig apply -k deploy/hosted-base"

// clientCALifetime is how long the CAs, or why they cannot be read, are kept.
const clientCALifetime = time.Minute

// clientCAs reads the CAs of client certificates, which only the CSRs of nodes with an expired certificate need.
type clientCAs struct {
	live  client.Reader
	mutex sync.Mutex
	read  time.Time
	pool  *x509.CertPool
	err   error
}

// get returns the CAs, or why they cannot be read, which is a fact for the decision too.
func (c *clientCAs) get(ctx context.Context) (*x509.CertPool, error) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if time.Since(c.read) > clientCALifetime {
		c.pool, c.err = c.load(ctx)
		c.read = time.Now()
	}
	return c.pool, c.err
}

func (c *clientCAs) load(ctx context.Context) (*x509.CertPool, error) {
	var object corev1.ConfigMap
	key := client.ObjectKey{Namespace: approver.ClientCANamespace, Name: approver.ClientCAConfigMap}
	switch err := c.live.Get(ctx, key, &object); {
	case apierrors.IsForbidden(err):
		return nil, report.Fail(report.CredentialRefused, rightsRemedy, "reading the cluster's client CAs: %w", err)
	case err != nil:
		return nil, fmt.Errorf("reading the cluster's client CAs: %w", err)
	}
	return approver.ParseClientCAs(&object)
}
