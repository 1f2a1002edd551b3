// SPDX-License-Identifier: Apache-2.0

package ignition

import (
	"bytes"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition/resolve"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/test/certtest"
)

// checkComplete fails the test unless the cached payload can be parsed without the network and has the
// wanted content.
func checkComplete(t *testing.T, p *Payload, path, want string) {
	t.Helper()
	again, err := LoadPayload(p.Raw)
	if err != nil {
		t.Fatalf("what is kept is not whole: %v", err)
	}
	for _, p := range []*Payload{p, again} {
		if content, _, ok := p.File(path); !ok || string(content) != want {
			t.Errorf("%s has %q, want %q", path, content, want)
		}
	}
	if again.Digest != p.Digest || !bytes.Equal(again.Raw, p.Raw) {
		t.Error("what is kept has another digest")
	}
}

// The resources of a payload are fetched with it, through the proxy of the user data. The CAs of
// the user data and of the payload are trusted for them; the payload's CAs are not trusted for
// the ignition server.
func TestFetchIncludesResources(t *testing.T) {
	ca, own := certtest.NewCA(t, "ignition-root-ca"), certtest.NewCA(t, "company CA")
	byUserData := startServer(t, ca, "files.example.com", respond(http.StatusOK, "text/plain", "one"))
	byOwn := startServer(t, own, "127.0.0.1", respond(http.StatusServiceUnavailable, "text/plain", ""),
		respond(http.StatusOK, "text/plain", "two"))
	address, requests := connectProxy(t, http.StatusOK, byUserData.Listener.Addr().String())
	payload := fmt.Sprintf(`{"ignition":{"version":"3.2.0","security":{"tls":{"certificateAuthorities":[%s]}}},"storage":{"files":[
		{"path":"/one","contents":{"source":"https://files.example.com/one"}},
		{"path":"/two","append":[{"source":"data:,start-"},{"source":"%s/two"}]}]}}`, inlineContent(string(own.PEM)),
		byOwn.URL)
	s := startServer(t, ca, "127.0.0.1", respond(http.StatusOK, "application/json", payload))
	log := &events{}
	userData := s.userData(t)
	userData.Proxy = Proxy{HTTPS: "http://" + address}
	p, err := retryingFetcher(log).Fetch(t.Context(), userData)
	if err != nil {
		t.Fatal(err)
	}
	checkComplete(t, p, "/one", "one")
	checkComplete(t, p, "/two", "start-two")
	if p.Version != "3.2.0" || p.Server == "" || string(p.Contents["/one"]) != "one" ||
		string(p.Appends["/two"]) != "start-two" {
		t.Errorf("%s of spec %s: %q, %q", p, p.Version, p.Contents, p.Appends)
	}
	if !strings.Contains(requests(), "CONNECT files.example.com:443") || !strings.Contains(log.text(), "HTTP 503") {
		t.Errorf("the proxy was asked %q; said was %s", requests(), log.text())
	}
	for _, request := range append(byUserData.recorded(), byOwn.recorded()...) {
		if request.Header.Get("Authorization") != "" {
			t.Error("the token went to another server")
		}
	}

	// A server that only the payload's CA has signed is not the ignition server.
	impostor := startServer(t, own, "127.0.0.1", respond(http.StatusOK, "application/json", payload))
	_, err = quickFetcher().Fetch(t.Context(), impostor.userData(t, func(v *Values) { v.CA = ca.PEM }))
	checkFailure(t, err, report.Refused, `signed by "CN=company CA`)
}

func TestFetchReportsMissingResources(t *testing.T) {
	ca := certtest.NewCA(t, "ignition-root-ca")
	for code, status := range map[report.Code]int{report.Usage: 404, report.CredentialRefused: 403, report.Failed: 503} {
		files := startServer(t, ca, "127.0.0.1", respond(status, "text/plain", "no"))
		s := startServer(t, ca, "127.0.0.1", respond(http.StatusOK, "application/json",
			string(configOf("3.2.0", `{"path":"/a","contents":{"source":"`+files.URL+`/a?token=hunter2"}}`))))
		_, err := quickFetcher().Fetch(t.Context(), s.userData(t))
		checkFailure(t, err, code,
			fmt.Sprintf("fetching the payload from %s: reading the payload: file /a: fetching %s/a: the server returns HTTP %d",
				s.Listener.Addr(), files.URL, status))
		if strings.Contains(err.Error()+string(report.RemedyOf(err)), "hunter2") {
			t.Errorf("a secret is told: %v", err)
		}
	}
}

func TestReadConfig(t *testing.T) {
	ca := certtest.NewCA(t, "ignition-root-ca")
	s := startServer(t, ca, "127.0.0.1", servePayload)
	userData, err := s.userData(t).Encode()
	if err != nil {
		t.Fatal(err)
	}
	p, err := ReadConfig(t.Context(), userData, quickFetcher(), false)
	if err != nil {
		t.Fatal(err)
	}
	checkComplete(t, p, "/etc/a", "a")
	if p.Server == "" || s.recorded()[0].Header.Get("Authorization") != testBearer {
		t.Error("the user data was not followed as user data")
	}
	_, err = ReadConfig(t.Context(), userData, quickFetcher(), true)
	checkFailure(t, err, report.Usage, "the input is user data, whose payload is at "+s.URL+
		"/ignition, but --offline excludes the network")

	// A config with one merged config but no CA is not user data.
	base := startServer(t, certtest.NewCA(t, "unknown"), "127.0.0.1", servePayload)
	_, err = ReadConfig(t.Context(), []byte(`{"ignition":{"version":"3.2.0","config":{"merge":[{"source":"`+base.URL+
		`/base.ign"}]}}}`), quickFetcher(), false)
	checkFailure(t, err, report.Refused, "merged config 1: fetching "+base.URL+"/base.ign: the certificate of "+
		base.Listener.Addr().String()+" is signed by")

	more := strings.Replace(string(userData), `"ignition":{`,
		`"storage":{"files":[{"path":"/more","contents":{"source":"data:,more"}}]},"ignition":{`, 1)
	p, err = ReadConfig(t.Context(), []byte(more), quickFetcher(), false)
	if err != nil {
		t.Fatal(err)
	}
	checkComplete(t, p, "/etc/a", "a")
	checkComplete(t, p, "/more", "more")
	_, err = ReadConfig(t.Context(), []byte(more), quickFetcher(), true)
	checkFailure(t, err, report.Usage,
		"the config refers to resources on the network, which are not fetched offline: merged config 1 at "+s.URL+"/ignition")

	p, err = ReadConfig(t.Context(), configOf("3.0.0", `{"path":"/a","contents":{"source":"data:,a"}}`), quickFetcher(),
		true)
	if err != nil {
		t.Fatal(err)
	}
	checkComplete(t, p, "/a", "a")
	_, err = ReadConfig(t.Context(), []byte(`{"ignition":{"version":"2.2.0"}}`), quickFetcher(), false)
	checkFailure(t, err, report.Usage, "reading the config: the config has Ignition spec 2.2.0, which is not supported")
}

func TestOpenRejectsInvalidMachineConfig(t *testing.T) {
	_, err := Open(t.Context(), configOf("3.2.0", `{"path":"`+MachineConfigPath+`","contents":{"source":"data:,%5B"}}`),
		resolve.Options{})
	checkFailure(t, err, report.Usage, "decoding the MachineConfig")
}

func TestOpenOverride(t *testing.T) {
	ca := certtest.NewCA(t, "ignition-root-ca")
	s := startServer(t, ca, "127.0.0.1", respond(http.StatusOK, "text/plain", "mine"))
	raw := configOf("3.4.0", `{"path":"/etc/a","contents":{"source":"`+s.URL+`/a"}}`)
	opened, err := OpenOverride(t.Context(), "a.ign", raw, s.userData(t), report.Log{})
	if err != nil {
		t.Fatal(err)
	}
	p, err := LoadPayload([]byte(servedPayload))
	if err != nil {
		t.Fatal(err)
	}
	if p, err = p.Override(opened); err != nil {
		t.Fatal(err)
	}
	if content, _, _ := p.File("/etc/a"); string(content) != "mine" {
		t.Errorf("content %q", content)
	}
	_, err = OpenOverride(t.Context(), "a.ign", raw, nil, report.Log{})
	checkFailure(t, err, report.Refused, "reading the Ignition override a.ign: file /etc/a: fetching "+s.URL+
		"/a: the certificate of "+s.Listener.Addr().String()+" is signed")
	if err := CheckOverride("a.ign", raw); err != nil {
		t.Errorf("what it refers to is asked for too early: %v", err)
	}
}
