// SPDX-License-Identifier: Apache-2.0

//go:build controlplane

package identity

import (
	"bytes"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/hcp-node-agent/hcp-node-agent/internal/kube"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/test/certtest"
	"github.com/hcp-node-agent/hcp-node-agent/test/kubetest"
	"github.com/hcp-node-agent/hcp-node-agent/test/waittest"
)

// During a CA rotation the payloads first contain the old and the new CA, then
// only the new one. The node keeps its certificate.
func TestControlPlaneCARotation(t *testing.T) {
	identity, recorded := newIdentity(t, "renewed")
	own, err := identity.expectedCluster()
	if err != nil {
		t.Fatal(err)
	}
	before := certtest.NewCA(t, "of before")
	both := slices.Concat(before.PEM, own.CA)
	identity.CA = own.CA
	if _, err := identity.Obtain(waittest.Context(t), manualApprover(t)); err != nil {
		t.Fatal(err)
	}
	pair := kubetest.ReadFile(t, identity.clientCertificatePath())
	// obtain runs with the CAs of a kubeconfig and of a payload.
	obtain := func(stored, payload []byte) (Result, []byte, error) {
		t.Helper()
		content, err := encodeKubeconfig(kube.Cluster{Server: own.Server, CA: stored}, identity.clientCertificatePath())
		if err != nil {
			t.Fatal(err)
		}
		kubetest.WriteFile(t, identity.Kubeconfig, content)
		identity.CA = payload
		result, err := identity.Obtain(waittest.Context(t), nil)
		now, unread := kube.ParseCluster(kubetest.ReadFile(t, identity.Kubeconfig))
		if unread != nil {
			t.Fatal(unread)
		}
		return result, now.CA, err
	}
	for name, test := range map[string]struct {
		stored, payload, want []byte
		message               string
	}{
		"unchanged":        {stored: own.CA, payload: own.CA, want: own.CA},
		"one more":         {stored: own.CA, payload: both, want: both},
		"one less":         {stored: both, payload: own.CA, want: own.CA},
		"in another order": {stored: both, payload: slices.Concat(own.CA, before.PEM), want: both},
		"another":          {stored: before.PEM, payload: own.CA, want: own.CA},
		"only the former CA in the payload": {
			stored:  both,
			payload: before.PEM,
			want:    both,
			message: "keeps its current CAs",
		},
	} {
		t.Run(name, func(t *testing.T) {
			result, got, err := obtain(test.stored, test.payload)
			changes := !bytes.Equal(test.stored, test.want)
			if err != nil || !bytes.Equal(got, test.want) || result.Changed != changes || result.OnlyCluster != changes ||
				result.Fingerprint == "" {
				t.Errorf("Obtain() = %+v, %v; the kubeconfig has:\n%s", result, err, got)
			}
			if !bytes.Equal(kubetest.ReadFile(t, identity.clientCertificatePath()), pair) ||
				len(clientCSRsOf(t, "renewed")) != 1 {
				t.Error("the node has another certificate")
			}
			if !strings.Contains(recorded.Text(), test.message) {
				t.Errorf("%q was not printed:\n%s", test.message, recorded.Text())
			}
		})
	}
	// These CAs do not verify the API server.
	if _, got, err := obtain(own.CA, before.PEM); report.CodeOf(err) != report.Refused ||
		!strings.Contains(err.Error(), "the cluster may have been reinstalled") || !bytes.Equal(got, own.CA) {
		t.Errorf("Obtain() = %v", err)
	}
}

// An API server with a new endpoint must have a certificate of the CA that the node trusts,
// and must accept the node's certificate. Otherwise the user data may be of another cluster.
func TestControlPlaneNewEndpoint(t *testing.T) {
	identity, _ := newIdentity(t, "moved")
	own, err := identity.expectedCluster()
	if err != nil {
		t.Fatal(err)
	}
	identity.CA = own.CA
	if _, err := identity.Obtain(waittest.Context(t), manualApprover(t)); err != nil {
		t.Fatal(err)
	}
	foreign := httptest.NewTLSServer(
		http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) }),
	)
	defer foreign.Close()
	foreignCA := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: foreign.Certificate().Raw})
	const before = "https://api.before.example.com:6443"
	for name, test := range map[string]struct {
		stored          []byte // CAs in kubelet's kubeconfig
		server, payload string // URL and CAs of the payload
		refused         string
	}{
		"new endpoint":                 {own.CA, own.Server, string(own.CA), ""},
		"new endpoint and one more CA": {own.CA, own.Server, string(own.CA) + string(foreignCA), ""},
		"other CA":                     {foreignCA, own.Server, string(own.CA), "it is for " + before},
		"certificate of a CA in common is not that of the server": {
			foreignCA, own.Server, string(own.CA) + string(foreignCA), "does not accept it",
		},
		"cluster of the same CA that rejects the node": {foreignCA, foreign.URL, string(foreignCA), "does not accept it"},
	} {
		t.Run(name, func(t *testing.T) {
			content, err := encodeKubeconfig(kube.Cluster{Server: before, CA: test.stored}, identity.clientCertificatePath())
			if err != nil {
				t.Fatal(err)
			}
			kubetest.WriteFile(t, identity.Kubeconfig, content)
			identity.Server, identity.CA = test.server, []byte(test.payload)
			result, err := identity.Obtain(waittest.Context(t), nil)
			if test.refused != "" {
				if report.CodeOf(err) != report.Refused || !strings.Contains(err.Error(), test.refused) {
					t.Errorf("Obtain() = %v, want a refusal with %q", err, test.refused)
				}
				if !bytes.Equal(kubetest.ReadFile(t, identity.Kubeconfig), content) {
					t.Error("the kubeconfig was changed")
				}
				return
			}
			now, unread := kube.ParseCluster(kubetest.ReadFile(t, identity.Kubeconfig))
			if err != nil || unread != nil || !result.OnlyCluster || now.Server != test.server ||
				string(now.CA) != test.payload {
				t.Errorf("Obtain() = %+v, %v; the kubeconfig is for %s, %v", result, err, now.Server, unread)
			}
			if len(clientCSRsOf(t, "moved")) != 1 {
				t.Error("the node has requested another certificate")
			}
		})
	}
}

// New CAs that the cluster publishes are added to those of the kubeconfig, once.
func TestControlPlaneAddCAs(t *testing.T) {
	identity, _ := newIdentity(t, "adding")
	own, err := identity.expectedCluster()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := identity.Obtain(waittest.Context(t), manualApprover(t)); err != nil {
		t.Fatal(err)
	}
	next := certtest.NewCA(t, "root-ca").PEM
	for range 2 {
		if err := identity.AddCAs(t.Context(), next); err != nil {
			t.Fatal(err)
		}
	}
	now, err := kube.ParseCluster(kubetest.ReadFile(t, identity.Kubeconfig))
	if err != nil || now.Server != own.Server || string(now.CA) != string(own.CA)+string(next) {
		t.Errorf("the kubeconfig is for %s with\n%s%v", now.Server, now.CA, err)
	}
	// A repeated join with the CAs of both keeps them.
	identity.CA = kube.JoinPEM(own.CA, next)
	if result, err := identity.Obtain(waittest.Context(t), nil); err != nil || result.Changed {
		t.Errorf("Obtain() = %+v, %v", result, err)
	}
}

// A former CA is removed from the kubeconfig if the API server is verified without it, and the present one never is.
func TestControlPlaneRemoveCAs(t *testing.T) {
	identity, _ := newIdentity(t, "removing")
	own, err := identity.expectedCluster()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := identity.Obtain(waittest.Context(t), manualApprover(t)); err != nil {
		t.Fatal(err)
	}
	former := certtest.NewCA(t, "former").PEM
	both, err := encodeKubeconfig(kube.Cluster{Server: own.Server, CA: slices.Concat(former, own.CA)},
		identity.clientCertificatePath())
	if err != nil {
		t.Fatal(err)
	}
	kubetest.WriteFile(t, identity.Kubeconfig, both)
	if _, err := identity.RemoveCAs(t.Context(), own.CA); err == nil ||
		!bytes.Equal(kubetest.ReadFile(t, identity.Kubeconfig), both) {
		t.Errorf("the present CA: %v", err)
	}
	if _, err := identity.RemoveCAs(t.Context(), former, "https://127.0.0.1:1"); err == nil ||
		!bytes.Equal(kubetest.ReadFile(t, identity.Kubeconfig), both) {
		t.Errorf("an endpoint that does not respond: %v", err)
	}
	restore, err := identity.RemoveCAs(t.Context(), former, own.Server)
	if err != nil {
		t.Fatal(err)
	}
	now, err := kube.ParseCluster(kubetest.ReadFile(t, identity.Kubeconfig))
	if err != nil || !bytes.Equal(bytes.TrimSpace(now.CA), bytes.TrimSpace(own.CA)) {
		t.Errorf("%v\n%s", err, now.CA)
	}
	if err := identity.CheckStored(t.Context()); err != nil {
		t.Error(err)
	}
	if err := restore(t.Context()); err != nil || !bytes.Equal(kubetest.ReadFile(t, identity.Kubeconfig), both) {
		t.Errorf("restored: %v", err)
	}
}
