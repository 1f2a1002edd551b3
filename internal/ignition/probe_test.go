// SPDX-License-Identifier: Apache-2.0

package ignition

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/test/certtest"
)

// A probe neither requests the payload nor sends the token, because the server would record the
// arrival of the node.
func TestProbeNeitherSendsTokenNorFetches(t *testing.T) {
	ca := certtest.NewCA(t, "ignition-root-ca")
	s := startServer(t, ca, "127.0.0.1", withDate(-2*time.Hour, respond(http.StatusOK, "text/plain", "")))
	probe, err := Fetcher{}.Probe(t.Context(), s.userData(t))
	if err != nil || probe.Temporary != nil {
		t.Fatal(err, probe.Temporary)
	}
	if off := probe.Skew + 2*time.Hour; off.Abs() > time.Minute {
		t.Errorf("skew %s, want -2h", probe.Skew)
	}
	r := s.recorded()[0]
	if r.URL.Path != "/healthz" || r.Method != http.MethodGet {
		t.Errorf("it asked %s %s", r.Method, r.URL.Path)
	}
	for _, name := range []string{"Authorization", "NodePool", "TargetConfigVersionHash"} {
		if r.Header.Get(name) != "" {
			t.Errorf("%s was sent", name)
		}
	}
}

func TestProbeReportsFailures(t *testing.T) {
	ca := certtest.NewCA(t, "ignition-root-ca")
	s := startServer(t, certtest.NewCA(t, "ignition-root-ca"), "127.0.0.1", servePayload)
	_, err := Fetcher{}.Probe(t.Context(), s.userData(t, func(v *Values) { v.CA = ca.PEM }))
	checkFailure(t, err, report.Refused, "the user data belongs to another hosted cluster")

	userData, err := NewUserData(Values{Endpoint: refusedPort(t), CA: ca.PEM})
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
