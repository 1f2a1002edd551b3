// SPDX-License-Identifier: Apache-2.0

//go:build differential

package differential

import (
	"bytes"
	"compress/gzip"
	"crypto/sha512"
	"encoding/base64"
	"encoding/hex"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
)

// testServers has the servers that configs refer to: an HTTP server, an HTTPS server and a proxy.
type testServers struct {
	clear, tls, proxy *httptest.Server

	lock          sync.Mutex
	requestCounts map[string]int
}

func newTestServers() *testServers {
	s := &testServers{requestCounts: map[string]int{}}
	s.clear = httptest.NewServer(http.HandlerFunc(s.serve))
	s.tls = httptest.NewTLSServer(http.HandlerFunc(s.serve))
	s.proxy = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.IsAbs() && r.URL.Host == "nowhere.invalid" {
			_, _ = io.WriteString(w, "through the proxy")
			return
		}
		http.Error(w, "not by this proxy", http.StatusForbidden)
	}))
	return s
}

func (s *testServers) close() {
	s.clear.Close()
	s.tls.Close()
	s.proxy.Close()
}

// replacePlaceholders replaces the placeholders of the servers in a config. RUN is different for the two runs,
// so that requests are counted separately.
func (s *testServers) replacePlaceholders(config, run string) string {
	authority := s.caCertificate()
	return strings.NewReplacer("HTTPS", s.tls.URL, "HTTP", s.clear.URL, "PROXY", s.proxy.URL, "RUN", run,
		"AUTHORITYSUM", "sha512-"+sum(authority), "AUTHORITY", data(authority), "CONFIGSUM", "sha512-"+sum(mergedConfig),
		"GZCONFIG", data(string(gzipped(mergedConfig))), "MERGED", data(mergedConfig), "GZIPPED",
		data(string(gzipped("expanded\n"))),
		"SHA512", "sha512-"+sum("expanded\n")).Replace(config)
}

// caCertificate returns the CA certificate of the HTTPS server.
func (s *testServers) caCertificate() string {
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.tls.Certificate().Raw}))
}

// mergedConfig is a config that other configs merge.
const mergedConfig = `{"ignition":{"version":"3.1.0"},"storage":{"files":[` +
	`{"path":"/etc/child","mode":384,"contents":{"source":"data:,child"}},` +
	`{"path":"/etc/both","mode":384,"contents":{"source":"data:,child"},"append":[{"source":"data:,c"}]}]},` +
	`"systemd":{"units":[{"name":"b.service","dropins":[{"name":"20-child.conf","contents":"[Service]\n"}]}]}}`

func data(content string) string {
	return "data:;base64," + base64.StdEncoding.EncodeToString([]byte(content))
}

func gzipped(content string) []byte {
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	_, _ = io.WriteString(w, content)
	_ = w.Close()
	return out.Bytes()
}

func sum(content string) string {
	digest := sha512.Sum512([]byte(content))
	return hex.EncodeToString(digest[:])
}

func (s *testServers) serve(w http.ResponseWriter, r *http.Request) {
	switch r.URL.Path {
	case "/file":
		_, _ = io.WriteString(w, "from the server")
	case "/gzip":
		_, _ = w.Write(gzipped("expanded\n"))
	case "/config":
		_, _ = io.WriteString(w, mergedConfig)
	case "/gzip-config":
		_, _ = w.Write(gzipped(mergedConfig))
	case "/authority":
		_, _ = w.Write(gzipped(s.caCertificate()))
	case "/bad-config":
		_, _ = io.WriteString(w, "hello")
	case "/seen": // returns the headers of the request
		fmt.Fprintf(w, "test=%q accept-encoding=%q", r.Header.Values("X-Test"), r.Header.Values("Accept-Encoding"))
	case "/moved":
		http.Redirect(w, r, "/moved-here", http.StatusFound)
	case "/moved-here":
		fmt.Fprintf(w, "test=%q", r.Header.Values("X-Test"))
	case "/empty":
		w.WriteHeader(http.StatusNoContent)
	case "/slow":
		<-r.Context().Done() // the client has closed the connection after the scenario's httpResponseHeaders
	case "/flaky":
		s.lock.Lock()
		s.requestCounts[r.URL.RawQuery]++
		first := s.requestCounts[r.URL.RawQuery] == 1
		s.lock.Unlock()
		if first {
			http.Error(w, "busy", http.StatusServiceUnavailable)
			return
		}
		_, _ = io.WriteString(w, "the second time")
	default:
		http.NotFound(w, r)
	}
}
