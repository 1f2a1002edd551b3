// SPDX-License-Identifier: Apache-2.0

package node

import (
	"crypto/x509"
	"strings"
	"testing"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

func TestClientCAFindings(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	until := func(days int) *x509.Certificate { return &x509.Certificate{NotAfter: now.AddDate(0, 0, days)} }
	refusal := `"Unable to authenticate the request" err="verifying certificate SN=1, SKID=, AKID= failed: x509: ` +
		`certificate signed by unknown authority"`
	for name, test := range map[string]struct {
		cas      []*x509.Certificate
		errors   []string
		severity report.Severity // "" if there is no finding
		text     string
	}{
		"all is well":             {cas: []*x509.Certificate{until(300)}},
		"the older one has ended": {cas: []*x509.Certificate{until(-10), until(300)}},
		"near its end": {
			cas:      []*x509.Certificate{until(-10), until(20)},
			severity: report.SeverityWarning, text: "expires at 2026-12-11T12:00:00Z (ca.crt)",
		},
		"ended": {
			cas:      []*x509.Certificate{until(-1), until(-10)},
			severity: report.SeverityProblem, text: "expired at 2026-11-20T12:00:00Z",
		},
		"the API server has other": {
			cas:      []*x509.Certificate{until(300)},
			errors:   []string{refusal},
			severity: report.SeverityProblem,
			text:     "rejects requests",
		},
		"a token is refused": {
			cas:    []*x509.Certificate{until(300)},
			errors: []string{`"Unable to authenticate the request" err="invalid bearer token"`},
		},
	} {
		t.Run(name, func(t *testing.T) {
			found := clientCAFindings(test.cas, test.errors, "ca.crt", now)
			if test.severity == "" {
				if len(found) > 0 {
					t.Errorf("%+v", found)
				}
				return
			}
			if len(found) != 1 || found[0].Severity != test.severity || !strings.Contains(found[0].Message, test.text) ||
				found[0].Remedy == "" || found[0].Reason == "" {
				t.Errorf("%+v", found)
			}
		})
	}
}

// Requests that kubelet has rejected before it loaded renewed CAs do not matter any more.
func TestRejectionsSince(t *testing.T) {
	now := time.Unix(10000, 0)
	for ago, want := range map[time.Duration]time.Duration{
		10 * time.Second: -50 * time.Second, // kubelet has not loaded them yet
		10 * time.Minute: 9 * time.Minute,
		5 * time.Hour:    time.Hour,
	} {
		if got := now.Sub(rejectionsSince(now.Add(-ago), now)); got != want {
			t.Errorf("CAs changed %s ago: rejections of the last %s matter, want %s", ago, got, want)
		}
	}
}
