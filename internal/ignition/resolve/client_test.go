// SPDX-License-Identifier: Apache-2.0

package resolve

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/test/waittest"
)

// Temporary failures are retried, and each wait is logged with its reason.
func TestTemporaryFailuresAreRetried(t *testing.T) {
	cut := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "100")
		_, _ = io.WriteString(w, "half")
	}
	stall := func(w http.ResponseWriter, r *http.Request) {
		cut(w, r)
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	}
	silent := func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }
	hangUp := func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }
	tests := []struct {
		name    string
		bad     http.HandlerFunc
		message string
	}{
		{"500", respondWithStatus(500), "the server returns HTTP 500 Internal Server Error"},
		{"503", respondWithStatus(503), "the server returns HTTP 503 Service Unavailable"},
		{"429", respondWithStatus(429), "the server returns HTTP 429 Too Many Requests"},
		{"cut short", cut, "the transfer ended after 4 of 100 bytes"},
		{"stalled", stall, "the transfer ended after 4 of 100 bytes"},
		{"no headers", silent, "accepted the connection and did not respond in time"},
		{"hung up", hangUp, "closed the connection without a response"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s, log := startServer(t, map[string]http.HandlerFunc{"/a": inOrder(test.bad, test.bad, respondWith("a"))}), &events{}
			o := retryingOptions()
			// httpTotal applies instead of RetryTimeout. Without httpResponseHeaders it would
			// end during the first attempt.
			o.Log, o.stallTimeout, o.RetryTimeout = report.Log{Sink: log}, 50*time.Millisecond, time.Nanosecond
			d := resolveComplete(t, configWith(`"timeouts":{"httpResponseHeaders":1,"httpTotal":600}`,
				fileEntry("/a", resourceAt(s.URL+"/a?"+canary))), o)
			// On a slow machine, a good response can be late too.
			retries := strings.Count(log.text(), "retrying until")
			if requests := len(s.recorded()); contentsOf(t, d)["/a"] != "a" || requests < 3 || requests != retries+1 {
				t.Errorf("content %q after %d requests and %d retries", contentsOf(t, d)["/a"], requests, retries)
			}
			if !strings.Contains(log.text(), test.message) || !strings.Contains(log.text(), "retrying until") {
				t.Errorf("what was said lacks %q: %s", test.message, log.text())
			}
			checkSecret(t, log.text())
		})
	}
}

// Permanent failures are reported at once, and retries of temporary ones end.
func TestPermanentFailuresAreReported(t *testing.T) {
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed.Close()
	s := startServer(t, map[string]http.HandlerFunc{
		"/401": respondWithStatus(401), "/403": respondWithStatus(403), "/407": respondWithStatus(407),
		"/503": respondWithStatus(503), "/206": respondWithStatus(206),
		"/silent": func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
	})
	tests := []struct {
		url  string
		code report.Code
		want string
		once bool
	}{
		{s.URL + "/401", report.CredentialRefused, "the server returns HTTP 401 Unauthorized", true},
		{s.URL + "/403", report.CredentialRefused, "the server returns HTTP 403 Forbidden", true},
		{s.URL + "/407", report.CredentialRefused, "the proxy requires a user name and a password", true},
		{s.URL + "/404", report.Usage, "the server returns HTTP 404 Not Found", true},
		{s.URL + "/206", report.Usage, "the server returns HTTP 206 Partial Content", true},
		{s.URL + "/503", report.Failed, "the server returns HTTP 503 Service Unavailable (", false},
		{"http://" + closed.Addr().String() + "/closed", report.Failed, "refused the connection", false},
		{"https://" + s.Listener.Addr().String() + "/tls", report.Refused, "does not use TLS", true},
		{"http://nowhere.invalid/dns", report.Failed, "nowhere.invalid", false},
	}
	for _, test := range tests {
		t.Run(test.url, func(t *testing.T) {
			raw := configWith("", fileEntry("/a", resourceAt(test.url+"?"+canary)))
			if test.once {
				message := resolveError(t, raw, quickOptions(), test.code, "file /a: fetching "+test.url+": ", test.want)
				if strings.Contains(message, " attempts in ") {
					t.Errorf("tried again: %s", message)
				}
				return
			}
			err := resolveUntilRetried(t, func(timeout time.Duration) (string, Options) {
				return raw, Options{RetryTimeout: timeout, initialBackoff: timeout / 4}
			})
			checkResolveError(t, err, test.code, "file /a: fetching "+test.url+": ", test.want)
		})
	}
	forever := retryingOptions()
	forever.RetryTimeout = 24 * time.Hour
	err = resolveUntilRetried(t, func(timeout time.Duration) (string, Options) {
		return configWith(fmt.Sprintf(`"timeouts":{"httpTotal":%d}`, timeout/time.Second),
			fileEntry("/a", resourceAt(s.URL+"/503"))), forever
	})
	checkResolveError(t, err, report.Failed, "HTTP 503")
	resolveError(t, configWith(`"timeouts":{"httpTotal":1,"httpResponseHeaders":0}`,
		fileEntry("/a", resourceAt(s.URL+"/silent"))), forever, report.Failed, "did not respond in time")
}

// resolveUntilRetried returns the error of the first timeout within which more than one attempt was made.
func resolveUntilRetried(t *testing.T, config func(timeout time.Duration) (raw string, o Options)) error {
	t.Helper()
	var err error
	waittest.GrowTimeout(t, "waiting for a second attempt", func(timeout time.Duration) (any, bool) {
		raw, options := config(timeout)
		_, err = Resolve(t.Context(), []byte(raw), options)
		return err, strings.Contains(fmt.Sprint(err), " attempts in ")
	})
	return err
}

func TestEndsWithContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	s := startServer(t, map[string]http.HandlerFunc{"/a": func(w http.ResponseWriter, r *http.Request) {
		respondWithStatus(503)(w, r)
		cancel()
	}})
	_, err := Resolve(ctx, []byte(configWith("", fileEntry("/a", resourceAt(s.URL+"/a")))),
		Options{initialBackoff: time.Hour})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want that the context was cancelled", err)
	}
}

// The CAs of the config are trusted in addition to the system's, and can be at a URL. The reason
// of a rejection is reported.
func TestConfigCAsAreTrusted(t *testing.T) {
	pages := map[string]http.HandlerFunc{"/a": respondWith("a")}
	s := startTLSServer(t, pages)
	ca := string(s.ca)
	plain := startServer(t, map[string]http.HandlerFunc{"/ca": respondWith(gzipData(t, ca)), "/same": respondWith(ca)})
	a := fileEntry("/a", resourceAt(s.URL+"/a"))

	d := resolveComplete(t, configWith(caSetting(resourceAt(plain.URL+"/ca", gzipCompression, hash512(ca)),
		resourceAt(plain.URL+"/same", hash256(ca))), a), quickOptions())
	if contentsOf(t, d)["/a"] != "a" || len(d.Config.Ignition.Security.TLS.CertificateAuthorities) != 1 {
		t.Errorf("%s: %s", d, indent(t, d.Config.Ignition))
	}
	if len(d.Warnings) > 0 {
		t.Errorf("warnings %q", d.Warnings)
	}
	resolveComplete(t, configWith(caSetting(resourceAt(dataResource("a bundle\n"+ca+"\n\n"))), a), quickOptions())

	other, expired, named := startTLSServer(t, pages), startTLSServerUntil(t, time.Now().Add(-time.Hour), pages),
		startTLSServer(t, pages, "web.example.com")
	tests := []struct{ name, raw, want string }{
		{"unknown", configWith("", a), ` is signed by "CN=a CA of a test,OU=openshift", which is not a trusted CA`},
		{"another CA", configWith(caSetting(resourceAt(dataResource(string(other.ca)))), a), "which is not a trusted CA"},
		{
			"expired", configWith(caSetting(resourceAt(dataResource(string(expired.ca)))),
				fileEntry("/a", resourceAt(expired.URL+"/a"))),
			`the certificate "CN=ignition-server" of ` + expired.Listener.Addr().String() + ` expired at `,
		},
		{
			"another name", configWith(caSetting(resourceAt(dataResource(string(named.ca)))),
				fileEntry("/a", resourceAt(strings.Replace(named.URL, "127.0.0.1", "localhost", 1)+"/a"))),
			" is valid for web.example.com, 127.0.0.1, not for localhost",
		},
		{
			"CA from one that is not trusted", configWith(caSetting(resourceAt(s.URL+"/ca")), a),
			"certificate authority 1: fetching " + s.URL + "/ca: the certificate of " + s.Listener.Addr().String() +
				" is signed",
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) { resolveError(t, test.raw, retryingOptions(), report.Refused, test.want) })
	}
}

// Configs are fetched with the settings of the outermost config, and contents with those of the
// merged config. The settings of a merged config apply to contents only; its CAs can be at a
// URL.
func TestSettingsOfNestedConfigs(t *testing.T) {
	secret := startTLSServer(t, map[string]http.HandlerFunc{"/a": respondWith("a"), "/deep": respondWith(configWith(""))})
	keeper := startTLSServer(t, map[string]http.HandlerFunc{"/ca": respondWith(string(secret.ca))})
	own := caSetting(resourceAt(keeper.URL + "/ca"))
	root := startTLSServer(t, map[string]http.HandlerFunc{
		"/child": respondWith(configWith(own, fileEntry("/a", resourceAt(secret.URL+"/a")))),
		"/other": respondWith(configWith(own + "," + mergeSetting(resourceAt(secret.URL+"/deep")))),
	})
	first := caSetting(resourceAt(dataResource(string(root.ca))), resourceAt(dataResource(string(keeper.ca))))
	d := resolveComplete(t, configWith(first+","+mergeSetting(resourceAt(root.URL+"/child"))), quickOptions())
	if contentsOf(t, d)["/a"] != "a" || len(d.Config.Ignition.Security.TLS.CertificateAuthorities) != 3 {
		t.Errorf("%v: %s", contentsOf(t, d), indent(t, d.Config.Ignition))
	}
	resolveError(t, configWith(first+","+mergeSetting(resourceAt(root.URL+"/other"))), quickOptions(), report.Refused,
		"merged config 1: fetching "+secret.URL+"/deep: the certificate of "+secret.Listener.Addr().String()+" is signed")

	// A replacement config has its own settings, and contents are fetched with only those.
	replacing := startTLSServer(t, map[string]http.HandlerFunc{
		"/new": respondWith(configWith("", fileEntry("/a", resourceAt(secret.URL+"/a")))),
	})
	both := caSetting(resourceAt(dataResource(string(replacing.ca))), resourceAt(dataResource(string(secret.ca))))
	resolveError(t, configWith(both+","+replaceSetting(resourceAt(replacing.URL+"/new"))), quickOptions(), report.Refused,
		"file /a: fetching "+secret.URL+"/a: the certificate of "+secret.Listener.Addr().String()+" is signed")
}

// The parent's settings apply if the config has none, and are not part of the document.
func TestParentSettingsAreDefaults(t *testing.T) {
	s := startTLSServer(t, map[string]http.HandlerFunc{
		"/a": respondWith("a"),
		"/b": respondWith(configWith("", fileEntry("/b", resourceAt(dataResource("b"))))),
	})
	parent, err := Parse([]byte(configWith(caSetting(resourceAt(dataResource(string(s.ca)))) + "," +
		mergeSetting(resourceAt("https://never.example.com/")))))
	if err != nil {
		t.Fatal(err)
	}
	o := quickOptions()
	o.Parent = parent.Config.Ignition
	d := resolveComplete(t, configWith(mergeSetting(resourceAt(s.URL+"/b")), fileEntry("/a", resourceAt(s.URL+"/a"))), o)
	if contentsOf(t, d)["/a"]+contentsOf(t, d)["/b"] != "ab" ||
		len(d.Config.Ignition.Security.TLS.CertificateAuthorities) != 0 {
		t.Errorf("%v: %s", contentsOf(t, d), indent(t, d.Config.Ignition))
	}
}

// forwardProxy is a proxy that sends all requests to one server, whatever the requested name, and
// records them.
type forwardProxy struct {
	*httptest.Server
	mutex    sync.Mutex
	requests []string
}

func newForwardProxy(t *testing.T, to string, status int) *forwardProxy {
	t.Helper()
	p := &forwardProxy{}
	p.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.mutex.Lock()
		p.requests = append(p.requests, strings.TrimSpace(fmt.Sprintf("%s %s %s", r.Method, r.RequestURI,
			r.Header.Get("Proxy-Authorization"))))
		p.mutex.Unlock()
		if status != http.StatusOK {
			w.WriteHeader(status)
			return
		}
		if r.Method == http.MethodConnect {
			p.tunnel(t, w, to)
			return
		}
		_, _ = io.WriteString(w, "by proxy")
	}))
	t.Cleanup(p.Close)
	return p
}

func (p *forwardProxy) tunnel(t *testing.T, w http.ResponseWriter, to string) {
	client, buffered, err := w.(http.Hijacker).Hijack()
	if err != nil {
		t.Error(err)
		return
	}
	defer client.Close()
	server, err := net.Dial("tcp", to)
	if err != nil {
		t.Error(err)
		return
	}
	defer server.Close()
	_, _ = io.WriteString(client, "HTTP/1.1 200 OK\r\n\r\n")
	go func() { _, _ = io.Copy(server, buffered) }()
	_, _ = io.Copy(client, server)
}

func (p *forwardProxy) recorded() string {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	return strings.Join(p.requests, "; ")
}
