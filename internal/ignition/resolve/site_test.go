// SPDX-License-Identifier: Apache-2.0

package resolve

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"crypto/sha512"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/test/certtest"
	"github.com/hcp-node-agent/hcp-node-agent/test/waittest"
)

// canary represents a secret, which no error, warning or message may contain.
const canary = "hunter2"

// testServer is a test web server on loopback. It records its requests.
type testServer struct {
	*httptest.Server
	ca []byte // PEM

	mutex    sync.Mutex
	requests []*http.Request
}

// startServer starts a server. Paths without a handler return 404.
func startServer(t *testing.T, pages map[string]http.HandlerFunc) *testServer {
	t.Helper()
	s := newTestServer(pages)
	s.Start()
	t.Cleanup(s.Close)
	return s
}

// startTLSServer starts a server with its own CA, for 127.0.0.1 and the names.
func startTLSServer(t *testing.T, pages map[string]http.HandlerFunc, names ...string) *testServer {
	t.Helper()
	return startTLSServerUntil(t, time.Now().Add(time.Hour), pages, names...)
}

func startTLSServerUntil(t *testing.T, until time.Time, pages map[string]http.HandlerFunc,
	names ...string,
) *testServer {
	t.Helper()
	s := newTestServer(pages)
	ca := certtest.NewCA(t, "a CA of a test")
	leaf := ca.IssueServing(t, "127.0.0.1", func(c *x509.Certificate) { c.NotAfter, c.DNSNames = until, names })
	s.ca = ca.PEM
	s.TLS = &tls.Config{Certificates: []tls.Certificate{leaf}, MinVersion: tls.VersionTLS12}
	s.Config.ErrorLog = log.New(io.Discard, "", 0) // some tests cause refused handshakes
	s.StartTLS()
	t.Cleanup(s.Close)
	return s
}

func newTestServer(pages map[string]http.HandlerFunc) *testServer {
	s := &testServer{}
	s.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mutex.Lock()
		s.requests = append(s.requests, r)
		s.mutex.Unlock()
		page, found := pages[r.URL.Path]
		if !found {
			page = http.NotFound
		}
		page(w, r)
	}))
	return s
}

func (s *testServer) recorded() []*http.Request {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return append([]*http.Request{}, s.requests...)
}

// requestedPaths returns the requested paths.
func (s *testServer) requestedPaths() string {
	var paths []string
	for _, r := range s.recorded() {
		paths = append(paths, r.URL.Path)
	}
	return strings.Join(paths, " ")
}

// respondWith returns a handler that sends a content.
func respondWith(content string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, content) }
}

// respondWithStatus returns a handler that sends a status.
func respondWithStatus(status int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no: "+canary, status) }
}

// inOrder passes each request to the next handler, and all further requests to the last one.
func inOrder(pages ...http.HandlerFunc) http.HandlerFunc {
	var mutex sync.Mutex
	n := 0
	return func(w http.ResponseWriter, r *http.Request) {
		mutex.Lock()
		page := pages[min(n, len(pages)-1)]
		n++
		mutex.Unlock()
		page(w, r)
	}
}

func redirectTo(to string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, to, http.StatusFound) }
}

// fileEntry returns an entry of storage.files with a content.
func fileEntry(path, resource string) string {
	return fmt.Sprintf(`{"path":%q,"contents":%s}`, path, resource)
}

// resourceAt returns a resource with a source and more JSON members.
func resourceAt(source string, more ...string) string {
	return "{" + strings.Join(append([]string{fmt.Sprintf(`"source":%q`, source)}, more...), ",") + "}"
}

// configWith returns a config of spec 3.4 with files; ignition has more members of its ignition
// section.
func configWith(ignition string, files ...string) string {
	if ignition != "" {
		ignition = "," + ignition
	}
	return fmt.Sprintf(`{"ignition":{"version":"3.4.0"%s},"storage":{"files":[%s]}}`, ignition, strings.Join(files, ","))
}

func mergeSetting(resources ...string) string {
	return `"config":{"merge":[` + strings.Join(resources, ",") + `]}`
}

func replaceSetting(resource string) string { return `"config":{"replace":` + resource + `}` }

func caSetting(resources ...string) string {
	return `"security":{"tls":{"certificateAuthorities":[` + strings.Join(resources, ",") + `]}}`
}

func dataResource(content string) string {
	return "data:;base64," + base64.StdEncoding.EncodeToString([]byte(content))
}

func gzipData(t *testing.T, content string) string {
	t.Helper()
	var out bytes.Buffer
	writer := gzip.NewWriter(&out)
	if _, err := io.WriteString(writer, content); err != nil {
		t.Fatal(err)
	}
	if err := writer.Close(); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func hash512(content string) string {
	sum := sha512.Sum512([]byte(content))
	return `"verification":{"hash":"sha512-` + hex.EncodeToString(sum[:]) + `"}`
}

func hash256(content string) string {
	sum := sha256.Sum256([]byte(content))
	return `"verification":{"hash":"sha256-` + hex.EncodeToString(sum[:]) + `"}`
}

const gzipCompression = `"compression":"gzip"`

// events collects the reported events.
type events struct {
	mutex sync.Mutex
	list  []string
}

func (e *events) Emit(event report.Event) {
	e.mutex.Lock()
	defer e.mutex.Unlock()
	e.list = append(e.list, string(event.Kind)+" "+event.Message+" "+string(event.Remedy))
}

func (e *events) text() string {
	e.mutex.Lock()
	defer e.mutex.Unlock()
	return strings.Join(e.list, "\n")
}

// patientOptions returns options with which retries last until the server succeeds. quick returns
// options with a short timeout.
func retryingOptions() Options {
	return Options{RetryTimeout: waittest.Timeout, initialBackoff: time.Millisecond}
}

func quickOptions() Options {
	return Options{RetryTimeout: 30 * time.Millisecond, initialBackoff: time.Millisecond}
}

// resolveComplete returns the document of a config and checks that the document is complete.
func resolveComplete(t *testing.T, raw string, o Options) *Document {
	t.Helper()
	document, err := Resolve(t.Context(), []byte(raw), o)
	if err != nil {
		t.Fatal(err)
	}
	again, err := Offline(document.Raw, "document", "")
	if err != nil {
		t.Fatalf("the document is not whole: %v", err)
	}
	if !bytes.Equal(again.Raw, document.Raw) {
		t.Errorf("resolved again, it is another: %s", again.Raw)
	}
	checkSecret(t, fmt.Sprint(document.Warnings, document, *document))
	return document
}

// contentsOf returns the contents of a document, including appended ones.
func contentsOf(t *testing.T, d *Document) map[string]string {
	t.Helper()
	contents, err := DecodeContents(d.Config)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(contents, d.Contents, cmpopts.EquateEmpty()); diff != "" {
		t.Error(diff)
	}
	list := map[string]string{}
	for path, content := range contents.Own {
		list[path] = string(content)
	}
	for path, content := range contents.Appended {
		list[path+" +"] = string(content)
	}
	return list
}

// resolveError returns the error of a config that cannot be resolved, after checking its code and
// texts.
func resolveError(t *testing.T, raw string, o Options, code report.Code, wants ...string) string {
	t.Helper()
	_, err := Resolve(t.Context(), []byte(raw), o)
	return checkResolveError(t, err, code, wants...)
}

// checkResolveError checks the error of Resolve and returns its message.
func checkResolveError(t *testing.T, err error, code report.Code, wants ...string) string {
	t.Helper()
	if err == nil {
		t.Fatal("it was not refused")
	}
	if report.CodeOf(err) != code || report.RemedyOf(err) == "" {
		t.Errorf("code %d, want %d; remedy %q: %v", report.CodeOf(err), code, report.RemedyOf(err), err)
	}
	for _, want := range wants {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("error %q lacks %q", err, want)
		}
	}
	checkSecret(t, err.Error()+string(report.RemedyOf(err)))
	return err.Error()
}

func checkSecret(t *testing.T, text string) {
	t.Helper()
	if strings.Contains(text, canary) {
		t.Errorf("a secret is shown: %s", text)
	}
}

func indent(t *testing.T, v any) string {
	t.Helper()
	text, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
