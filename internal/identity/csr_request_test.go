// SPDX-License-Identifier: Apache-2.0

package identity

import (
	"strings"
	"testing"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/kube"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/test/certtest"
	"github.com/hcp-node-agent/hcp-node-agent/test/reporttest"
)

// A CSR that is approved but not issued is reported after a moment. At the
// deadline it is not a missing approval.
func TestApprovedButNotIssuedIsReported(t *testing.T) {
	key := &pendingKey{private: certtest.NewKey(t), createdAt: time.Now()}
	request, err := newClientCSR(key, "worker-1")
	if err != nil {
		t.Fatal(err)
	}
	var recorded reporttest.Recorder
	a := &csrRequester{
		identity: &Identity{NodeName: "worker-1", Log: recorded.Log()},
		conn:     &kube.Conn{Endpoint: kube.Endpoint{Clock: &kube.ServerClock{}}},
		key:      key,
		desired:  request,
	}
	found := request.DeepCopy()
	withConditions("Approved")(found)
	see := func() {
		if done, err := a.handleCSR(t.Context(), found); done || err != nil {
			t.Fatalf("handleCSR() = %v, %v", done, err)
		}
	}
	if see(); recorded.Text() != "" {
		t.Errorf("in the first moment it says %q", recorded.Text())
	}
	a.approvedAt = a.approvedAt.Add(-5 * time.Second)
	see()
	want := "waiting for a certificate: client CSR " + request.Name + " is approved, but no certificate has been issued " +
		"yet\n" +
		string(
			ClusterTopology{}.SignerRemedy(),
		) + "\n"
	if recorded.Text() != want {
		t.Errorf("said %q, want %q", recorded.Text(), want)
	}
	if err := a.timeoutError(); report.CodeOf(err) != report.Failed ||
		!strings.Contains(err.Error(), "was approved, but no certificate was issued in time") {
		t.Errorf("timeoutError() = %v (code %d)", err, report.CodeOf(err))
	}
	// The server's clock decides whether a certificate has expired.
	template := nodeCertificate("worker-1")
	template.NotAfter = time.Now().Add(-time.Minute)
	found.Status.Certificate = certtest.NewCA(t, "signer").Issue(t, key.private, template)
	a.conn.Clock.Set(time.Now().Add(-10 * time.Minute))
	if done, err := a.handleCSR(t.Context(), found); !done || err != nil {
		t.Errorf("handleCSR() = %v, %v of a certificate that is good by the server's clock", done, err)
	}
}
