// SPDX-License-Identifier: Apache-2.0

package identity

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hcp-node-agent/hcp-node-agent/internal/kube"
)

// PendingCSR describes the client CSR of a key without a certificate.
type PendingCSR struct {
	Name        string `json:"name"`
	Fingerprint string `json:"fingerprint"` // of the public key
	// absent, pending, approved, issued, denied, failed, ...; "" if the cluster was not queried
	Phase  string    `json:"phase,omitempty"`
	Detail string    `json:"detail,omitempty"` // reason and message of a denial
	Since  time.Time `json:"since,omitzero"`   // when it was submitted
}

// FindPendingCSR returns the client CSR that an earlier run has submitted, or nil if
// there is no pending key. It creates nothing. If the cluster cannot be
// queried, it returns the name of the CSR and an error.
func (i *Identity) FindPendingCSR(ctx context.Context) (*PendingCSR, error) {
	key, err := loadKey(i.KeyDir)
	if err != nil || key.private == nil {
		return nil, err
	}
	expected, err := newClientCSR(key, i.NodeName)
	if err != nil {
		return nil, err
	}
	pending := &PendingCSR{Name: expected.Name, Fingerprint: fingerprint(&key.private.PublicKey)}
	connection, err := i.reconnectBootstrap()
	if err != nil {
		return pending, err
	}
	found, err := connection.Client.CSRs().Find(ctx, expected.Name)
	if err != nil {
		return pending, connection.Explain(ctx, err).Failure("getting the client CSR")
	}
	at := evaluateCSR(found, expected, metav1.Now())
	pending.Phase, pending.Detail = string(at.phase), at.detail
	if found != nil {
		pending.Since = found.CreationTimestamp.Time
	}
	return pending, nil
}

// reconnectBootstrap returns a connection with the bootstrap credential, which is removed after the join.
func (i *Identity) reconnectBootstrap() (*kube.Conn, error) {
	if i.BootstrapKubeconfig == nil {
		return nil, errors.New("this host has no bootstrap credential any more")
	}
	connection, _, err := i.connectBootstrap()
	return connection, err
}

// newestFirst returns the CSRs of a requestor, the newest first.
func newestFirst(found map[string]*kube.CSR, requestor string) []*kube.CSR {
	var all []*kube.CSR
	for _, csr := range found {
		if csr.Spec.Username == requestor {
			all = append(all, csr)
		}
	}
	slices.SortFunc(all, func(a, b *kube.CSR) int {
		return cmp.Or(b.CreationTimestamp.Compare(a.CreationTimestamp.Time), strings.Compare(b.Name, a.Name))
	})
	return all
}
