// SPDX-License-Identifier: Apache-2.0

package ignition

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/test/certtest"
	"github.com/hcp-node-agent/hcp-node-agent/test/loopback"
)

// A probe sends the token without the headers with which the server would record the arrival of the node, and
// receives no payload.
func TestProbeChecksTokenWithoutFetching(t *testing.T) {
	ca := certtest.NewCA(t, "ignition-root-ca")
	s := startServer(t, ca, "127.0.0.1", withDate(-2*time.Hour, servePayload))
	probe, err := Fetcher{}.Probe(t.Context(), s.userData(t))
	if err != nil || probe.Temporary != nil {
		t.Fatal(err, probe.Temporary)
	}
	if off := probe.Skew + 2*time.Hour; off.Abs() > time.Minute {
		t.Errorf("skew %s, want -2h", probe.Skew)
	}
	r := s.recorded()[0]
	if r.URL.Path != "/ignition" || r.Method != http.MethodHead || r.Header.Get("Authorization") != testBearer {
		t.Errorf("the request is %s %s with token %q", r.Method, r.URL.Path, r.Header.Get("Authorization"))
	}
	for _, name := range []string{"NodePool", "TargetConfigVersionHash"} {
		if r.Header.Get(name) != "" {
			t.Errorf("%s was sent", name)
		}
	}
}

func TestProbeReportsRejectedToken(t *testing.T) {
	ca := certtest.NewCA(t, "ignition-root-ca")
	unauthorized := func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "Unauthorized", http.StatusUnauthorized)
	}
	s := startServer(t, ca, "127.0.0.1", unauthorized, withDate(3*time.Hour, rejectUnknownToken))
	_, err := Fetcher{}.Probe(t.Context(), s.userData(t))
	checkFailure(t, err, report.CredentialRefused, "the server cannot decode the token (HTTP 401)")
	probe, err := Fetcher{}.Probe(t.Context(), s.userData(t))
	if err != nil {
		t.Fatal(err)
	}
	checkFailure(t, probe.Temporary, report.CredentialRefused, "the token has expired or was rotated")
	if off := probe.Skew - 3*time.Hour; off.Abs() > time.Minute {
		t.Errorf("skew %s of a response with status 511, want 3h", probe.Skew)
	}
}

// A machine-config server has no tokens.
func TestProbeOfStandaloneCluster(t *testing.T) {
	ca := certtest.NewCA(t, "root-ca")
	s := startServer(t, ca, "127.0.0.1", respond(http.StatusNotFound, "text/plain", ""))
	userData := s.userData(t, func(v *Values) {
		v.Endpoint += "/config/worker"
		v.Token, v.NodePool, v.Hash = nil, "", ""
	})
	if probe, err := (Fetcher{}).Probe(t.Context(), userData); err != nil || probe.Temporary != nil {
		t.Fatal(err, probe.Temporary)
	}
	if r := s.recorded()[0]; r.URL.Path != "/healthz" || r.Method != http.MethodGet {
		t.Errorf("the request is %s %s, want GET /healthz", r.Method, r.URL.Path)
	}
}

func TestProbeReportsFailures(t *testing.T) {
	ca := certtest.NewCA(t, "ignition-root-ca")
	s := startServer(t, certtest.NewCA(t, "ignition-root-ca"), "127.0.0.1", servePayload)
	_, err := Fetcher{}.Probe(t.Context(), s.userData(t, func(v *Values) { v.CA = ca.PEM }))
	checkFailure(t, err, report.Refused, "the user data belongs to another hosted cluster")

	userData, err := NewUserData(Values{Endpoint: loopback.FreeAddress(t), CA: ca.PEM})
	if err != nil {
		t.Fatal(err)
	}
	probe, err := Fetcher{}.Probe(t.Context(), userData)
	if err != nil || probe.Temporary == nil || !strings.Contains(probe.Temporary.Error(), "refused the connection") {
		t.Errorf("what can pass is not told apart: %v, %v", err, probe.Temporary)
	}
	_, err = Fetcher{ConnectTo: "here"}.Probe(t.Context(), userData)
	checkFailure(t, err, report.Usage, "is not HOST:PORT")
	_, err = Fetcher{}.Probe(t.Context(), &UserData{})
	checkFailure(t, err, report.Usage, "the ignition server is unknown")
	userData = s.userData(t, func(v *Values) { v.Endpoint = "a.example.com" })
	userData.Proxy.HTTPS = "https://proxy.example.com"
	_, err = Fetcher{}.Probe(t.Context(), userData)
	checkFailure(t, err, report.Usage, "is not an HTTP proxy")
}

// A token that is not accepted has a time limit of its own. Other failures do not use it.
func TestTokenRetryTimeout(t *testing.T) {
	ca := certtest.NewCA(t, "ignition-root-ca")
	for name, test := range map[string]struct {
		handler http.HandlerFunc
		code    report.Code
	}{
		"token not accepted": {rejectUnknownToken, report.CredentialRefused},
		"server down":        {respondAsHAProxy, report.Success},
	} {
		t.Run(name, func(t *testing.T) {
			s := startServer(t, ca, "127.0.0.1", test.handler, test.handler, test.handler, servePayload)
			fetcher := retryingFetcher(&events{})
			fetcher.TokenRetryTimeout = time.Nanosecond
			if _, err := fetcher.Fetch(t.Context(), s.userData(t)); report.CodeOf(err) != test.code {
				t.Errorf("code %d, want %d: %v", report.CodeOf(err), test.code, err)
			}
		})
	}
}

func TestWithoutFile(t *testing.T) {
	raw := configOf("3.2.0", `{"path":"/etc/a","mode":420}`, `{"path":"/etc/b"}`)
	less, err := WithoutFile(raw, "/etc/a")
	if err != nil {
		t.Fatal(err)
	}
	p, err := LoadPayload(less)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, found := p.File("/etc/a"); found || p.FileCount() != 1 {
		t.Error("the file is still there, or others went with it")
	}
	if same, err := WithoutFile([]byte(`{}`), "/etc/a"); err != nil || string(same) != "{}" {
		t.Errorf("%s, %v", same, err)
	}
	if _, err := WithoutFile([]byte(`[`), "/etc/a"); err == nil {
		t.Error("what is not JSON is taken")
	}
}

func TestRefusesSwap(t *testing.T) {
	for content, want := range map[string]bool{"{}": true, "failSwapOn: true": true, "failSwapOn: false": false} {
		p, err := LoadPayload(configOf("3.2.0", `{"path":"`+KubeletConfigPath+`","contents":`+inlineContent(content)+`}`))
		if err != nil {
			t.Fatal(err)
		}
		if refused, err := p.RefusesSwap(); err != nil || refused != want {
			t.Errorf("%s: %t, %v", content, refused, err)
		}
	}
}
