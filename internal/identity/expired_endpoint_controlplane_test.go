// SPDX-License-Identifier: Apache-2.0

//go:build controlplane

package identity

import (
	"strings"
	"testing"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/kube"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/test/certtest"
	"github.com/hcp-node-agent/hcp-node-agent/test/kubetest"
	"github.com/hcp-node-agent/hcp-node-agent/test/waittest"
)

// The API server got a new endpoint while the certificate of the node expired. Its expired
// certificate proves the node's identity at the new endpoint, if that has a certificate of the CA
// that the node trusts.
func TestControlPlaneExpiredNodeWithNewEndpoint(t *testing.T) {
	identity, recorded := newIdentity(t, "expired-moved")
	own, err := identity.expectedCluster()
	if err != nil {
		t.Fatal(err)
	}
	identity.Annotate = enroll(t, "expired-moved")
	runController(t)
	joined, err := identity.Obtain(waittest.Context(t), nil)
	if err != nil {
		t.Fatal(err)
	}
	identity.Annotate = nil
	createOfflineNode(t, "expired-moved")
	expired := expireCertificate(t, identity, joined.CSR, time.Minute)
	// obtain runs on a node whose kubeconfig has the former endpoint.
	obtain := func(stored []byte) (Result, error) {
		t.Helper()
		content, err := encodeKubeconfig(kube.Cluster{Server: "https://api.before.example.com:6443", CA: stored},
			identity.clientCertificatePath())
		if err != nil {
			t.Fatal(err)
		}
		kubetest.WriteFile(t, identity.Kubeconfig, content)
		return identity.Obtain(waittest.Context(t), nil)
	}
	if _, err := obtain(certtest.NewCA(t, "another CA").PEM); report.CodeOf(err) != report.Refused ||
		!strings.Contains(err.Error(), "it is for https://api.before.example.com:6443") {
		t.Errorf("Obtain() with another CA = %v", err)
	}
	result, err := obtain(own.CA)
	if err != nil || !result.Changed || result.OnlyCluster || result.Fingerprint != fingerprint(&expired.key.PublicKey) {
		t.Fatalf("Obtain() = %+v, %v; printed:\n%s", result, err, recorded.Text())
	}
	now, err := kube.ParseCluster(kubetest.ReadFile(t, identity.Kubeconfig))
	if err != nil || now.Server != own.Server {
		t.Errorf("the kubeconfig is for %s, %v", now.Server, err)
	}
}
