// SPDX-License-Identifier: Apache-2.0

package identity

import (
	"context"
	"crypto/x509"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"

	"github.com/hcp-node-agent/hcp-node-agent/internal/kube"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

func TestCompareClocks(t *testing.T) {
	leaf := &x509.Certificate{NotAfter: time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)}
	before, after := leaf.NotAfter.Add(-time.Hour), leaf.NotAfter.Add(time.Hour)
	if err := compareClocks(leaf, after, after); err != nil {
		t.Errorf("expired by both clocks: %v", err)
	}
	err := compareClocks(leaf, before, after)
	const want = "this host's clock is wrong: it shows 2026-11-01T01:00:00Z, at which this node's certificate has " +
		"expired (at 2026-11-01T00:00:00Z); the API server's clock shows 2026-10-31T23:00:00Z"
	if err == nil || err.Error() != want || report.CodeOf(err) != report.Refused {
		t.Errorf("compareClocks() = %v, want %q", err, want)
	}
}

// An error before the response that the Node does not exist must not look like an existing Node.
func TestVerifyAfterATemporaryErrorHasNoNode(t *testing.T) {
	requests := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		requests++
		status := map[bool]int{true: http.StatusServiceUnavailable, false: http.StatusNotFound}[requests == 1]
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		reason := map[bool]string{true: "ServiceUnavailable", false: "NotFound"}[requests == 1]
		_, _ = fmt.Fprintf(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":%q,"code":%d}`, reason, status)
	}))
	defer server.Close()
	checked := false
	identity := &Identity{
		NodeName: "worker-0",
		Proxy:    func(*http.Request) (*url.URL, error) { return nil, nil },
		CheckRegistration: func(_ context.Context, _ *kube.Conn, _ report.Log, _ string, existing *corev1.Node) error {
			if checked = true; existing != nil {
				t.Errorf("existing Node %+v, want none", existing)
			}
			return nil
		},
	}
	config := &rest.Config{Host: server.URL, ContentConfig: rest.ContentConfig{ContentType: "application/json"}}
	connection, err := kube.Connect(config, identity.Proxy)
	if err != nil {
		t.Fatal(err)
	}
	if err := identity.verify(t.Context(), connection, false); err != nil || !checked || requests != 2 {
		t.Errorf("verify() = %v, checked %t, %d requests", err, checked, requests)
	}
}
