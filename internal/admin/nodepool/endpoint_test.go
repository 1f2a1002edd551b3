// SPDX-License-Identifier: Apache-2.0

package nodepool

import (
	"cmp"
	"crypto/x509"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/test/certtest"
	"github.com/hcp-node-agent/hcp-node-agent/test/ignitiontest"
)

// The request is that of a host, but HyperShift would record the arrival of a host with the other two headers, and also
// for HEAD and POST.
func TestCheckEndpointSendsOneGet(t *testing.T) {
	s := ignitiontest.StartServer(t, "127.0.0.1", currentToken)
	f := newFacts(t)
	f.userData = s.UserData(t, currentToken)
	got := f.checkEndpoint(t.Context())
	if got.Severity != report.SeverityOK || !strings.HasSuffix(got.Message, " serves the payload for this token") {
		t.Fatalf("%+v", got)
	}
	requests := s.Requests()
	if len(requests) != 1 || requests[0].Method != http.MethodGet || requests[0].URL.Path != "/ignition" {
		t.Fatalf("requests: %v", requests)
	}
	for _, name := range []string{"NodePool", "TargetConfigVersionHash"} {
		if value := requests[0].Header.Get(name); value != "" {
			t.Errorf("the request has the header %s: %s", name, value)
		}
	}
}

func TestCheckEndpoint(t *testing.T) {
	const openssl = "openssl s_client -connect "
	for name, test := range map[string]struct {
		certificate string
		edit        func(*x509.Certificate)
		values      func(*ignition.Values)
		severity    report.Severity
		code        report.Code
		message     string
		remedy      string
	}{
		"unknown token": {
			values: func(v *ignition.Values) { v.Token = []byte(otherToken) }, severity: report.SeverityProblem,
			code: report.CredentialRefused, message: "does not accept the current token (HTTP 511): it has not generated",
			remedy: "oc -n clusters-hosted-a logs deployment/ignition-server --tail=20",
		},
		"another path": {
			values: func(v *ignition.Values) { v.Endpoint += "/other" }, severity: report.SeverityProblem,
			code: report.Usage, message: "has no payload at /other (HTTP 404)", remedy: "ignitionEndpoint",
		},
		"certificate of another name": {
			certificate: "ignition.example.com", severity: report.SeverityProblem, code: report.Refused,
			message: "is valid for ignition.example.com, not for 127.0.0.1", remedy: openssl,
		},
		"expired certificate": {
			edit: func(c *x509.Certificate) {
				c.NotBefore, c.NotAfter = time.Now().Add(-2*time.Hour), time.Now().Add(-time.Hour)
			},
			severity: report.SeverityProblem, code: report.Refused, message: "expired", remedy: openssl,
		},
		"another CA": {
			values:   func(v *ignition.Values) { v.CA = certtest.NewCA(t, "ignition-root-ca").PEM },
			severity: report.SeverityProblem, code: report.Refused, message: "signed by another CA", remedy: openssl,
		},
		"no server": {
			values: func(v *ignition.Values) { v.Endpoint = "https://127.0.0.1:1" }, severity: report.SeverityWarning,
			message: "not checked from this machine: 127.0.0.1:1 refused the connection",
			remedy:  "curl -vkm 20 https://127.0.0.1:1/healthz",
		},
		"unknown name": {
			values: func(v *ignition.Values) { v.Endpoint = "https://ignition.invalid" }, severity: report.SeverityWarning,
			message: "not checked from this machine: the name ignition.invalid",
			remedy:  "curl -vkm 20 https://ignition.invalid/healthz",
		},
	} {
		t.Run(name, func(t *testing.T) {
			test.certificate = cmp.Or(test.certificate, "127.0.0.1")
			if test.values == nil {
				test.values = func(*ignition.Values) {}
			}
			if test.edit == nil {
				test.edit = func(*x509.Certificate) {}
			}
			f := newFacts(t)
			s := ignitiontest.StartServer(t, test.certificate, currentToken, test.edit)
			f.userData = s.UserData(t, currentToken, test.values)
			got := f.checkEndpoint(t.Context())
			if got.Severity != test.severity || got.Code != test.code || got.Check != "endpoint" ||
				got.RefusesJoin != (test.severity == report.SeverityProblem) || !strings.Contains(got.Message, test.message) ||
				!strings.Contains(got.Remedy.Command(), test.remedy) {
				t.Errorf("%+v", got)
			}
			if strings.Contains(got.Message+string(got.Remedy), currentToken) {
				t.Errorf("the finding contains the token: %+v", got)
			}
		})
	}
}
