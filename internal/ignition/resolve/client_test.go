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
)

// Temporary failures are retried, and each wait is logged with its reason.
func TestTriesAgain(t *testing.T) {
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
		name string
		bad  http.HandlerFunc
		says string
	}{
		{"500", fails(500), "it answers HTTP 500 Internal Server Error"},
		{"503", fails(503), "it answers HTTP 503 Service Unavailable"},
		{"429", fails(429), "it answers HTTP 429 Too Many Requests"},
		{"cut short", cut, "it stopped sending after 4 of 100 bytes"},
		{"stalled", stall, "it stopped sending after 4 of 100 bytes"},
		{"no headers", silent, "took the connection and did not answer in time"},
		{"hung up", hangUp, "closed the connection without an answer"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s, log := visit(t, map[string]http.HandlerFunc{"/a": inTurn(test.bad, test.bad, says("a"))}), &events{}
			o := patient()
			// httpTotal applies instead of RetryTimeout. Without httpResponseHeaders it would
			// end during the first attempt.
			o.Log, o.stall, o.Budget = report.Log{Sink: log}, 50*time.Millisecond, time.Nanosecond
			d := resolved(t, config(`"timeouts":{"httpResponseHeaders":1,"httpTotal":8}`, file("/a", at(s.URL+"/a?"+canary))), o)
			if string(d.Contents["/a"]) != "a" || len(s.got()) != 3 {
				t.Errorf("content %q after %d requests", d.Contents["/a"], len(s.got()))
			}
			if !strings.Contains(log.text(), test.says) || !strings.Contains(log.text(), "retrying until") {
				t.Errorf("what was said lacks %q: %s", test.says, log.text())
			}
			checkSecret(t, log.text())
		})
	}
}

// Permanent failures are reported at once, and retries of temporary ones end.
func TestGivesUp(t *testing.T) {
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed.Close()
	s := visit(t, map[string]http.HandlerFunc{
		"/401": fails(401), "/403": fails(403), "/407": fails(407), "/503": fails(503), "/206": fails(206),
		"/silent": func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
	})
	tests := []struct {
		url  string
		code report.Code
		want string
		once bool
	}{
		{s.URL + "/401", report.CredentialRefused, "it answers HTTP 401 Unauthorized", true},
		{s.URL + "/403", report.CredentialRefused, "it answers HTTP 403 Forbidden", true},
		{s.URL + "/407", report.CredentialRefused, "the proxy wants a user and a password", true},
		{s.URL + "/404", report.Usage, "it answers HTTP 404 Not Found", true},
		{s.URL + "/206", report.Usage, "it answers HTTP 206 Partial Content", true},
		{s.URL + "/503", report.Failed, "it answers HTTP 503 Service Unavailable (", false},
		{"http://" + closed.Addr().String() + "/closed", report.Failed, "refuses the connection", false},
		{"https://" + s.Listener.Addr().String() + "/tls", report.Refused, "does not speak TLS", true},
		{"http://nowhere.invalid/dns", report.Failed, "nowhere.invalid", false},
	}
	for _, test := range tests {
		t.Run(test.url, func(t *testing.T) {
			options := quick()
			if !test.once { // time for a second attempt after a slow name server
				options = Options{Budget: 2 * time.Second, pause: 500 * time.Millisecond}
			}
			said := refused(t, config("", file("/a", at(test.url+"?"+canary))), options, test.code, "file /a: fetching "+test.url+": ", test.want)
			if again := strings.Contains(said, " tries in "); again == test.once {
				t.Errorf("tried again: %t: %s", again, said)
			}
		})
	}
	forever := patient()
	forever.Budget = 24 * time.Hour
	refused(t, config(`"timeouts":{"httpTotal":1}`, file("/a", at(s.URL+"/503"))), forever, report.Failed, "HTTP 503", " tries in ")
	refused(t, config(`"timeouts":{"httpTotal":1,"httpResponseHeaders":0}`, file("/a", at(s.URL+"/silent"))), forever, report.Failed, "did not answer in time")
}

func TestEndsWithContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	s := visit(t, map[string]http.HandlerFunc{"/a": func(w http.ResponseWriter, r *http.Request) {
		fails(503)(w, r)
		cancel()
	}})
	_, err := Resolve(ctx, []byte(config("", file("/a", at(s.URL+"/a")))), Options{pause: time.Hour})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want that the context was cancelled", err)
	}
}

// The CAs of the config are trusted in addition to the system's, and can be at a URL. The reason
// of a rejection is reported.
func TestTrust(t *testing.T) {
	pages := map[string]http.HandlerFunc{"/a": says("a")}
	s := visitTLS(t, pages)
	ca := string(s.ca)
	plain := visit(t, map[string]http.HandlerFunc{"/ca": says(zip(t, ca)), "/same": says(ca)})
	a := file("/a", at(s.URL+"/a"))

	d := resolved(t, config(trusting(at(plain.URL+"/ca", gzipped, hash512(ca)), at(plain.URL+"/same", hash256(ca))), a), quick())
	if string(d.Contents["/a"]) != "a" || len(d.Config.Ignition.Security.TLS.CertificateAuthorities) != 1 {
		t.Errorf("%s: %s", d, indent(t, d.Config.Ignition))
	}
	if len(d.Warnings) > 0 {
		t.Errorf("warnings %q", d.Warnings)
	}
	resolved(t, config(trusting(at(data("a bundle\n"+ca+"\n\n"))), a), quick())

	other, expired, named := visitTLS(t, pages), visitUntil(t, time.Now().Add(-time.Hour), pages), visitTLS(t, pages, "web.example.com")
	tests := []struct{ name, raw, want string }{
		{"unknown", config("", a), `its certificate is signed by "CN=a CA of a test,OU=openshift", which neither this host nor the config trusts`},
		{"another CA", config(trusting(at(data(string(other.ca)))), a), "neither this host nor the config trusts"},
		{"expired", config(trusting(at(data(string(expired.ca)))), file("/a", at(expired.URL+"/a"))), `the certificate of "CN=ignition-server" has expired`},
		{"another name", config(trusting(at(data(string(named.ca)))), file("/a", at(strings.Replace(named.URL, "127.0.0.1", "localhost", 1)+"/a"))), "its certificate is for web.example.com, 127.0.0.1 and not for localhost"},
		{"CA from one that is not trusted", config(trusting(at(s.URL+"/ca")), a), "certificate authority 1: fetching " + s.URL + "/ca: its certificate is signed"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) { refused(t, test.raw, patient(), report.Refused, test.want) })
	}
}

// Configs are fetched with the settings of the outermost config, and contents with those of the
// merged config. The settings of a merged config apply to contents only; its CAs can be at a
// URL.
func TestSettingsOfNestedConfigs(t *testing.T) {
	secret := visitTLS(t, map[string]http.HandlerFunc{"/a": says("a"), "/deep": says(config(""))})
	keeper := visitTLS(t, map[string]http.HandlerFunc{"/ca": says(string(secret.ca))})
	own := trusting(at(keeper.URL + "/ca"))
	root := visitTLS(t, map[string]http.HandlerFunc{
		"/child": says(config(own, file("/a", at(secret.URL+"/a")))),
		"/other": says(config(own + "," + merge(at(secret.URL+"/deep")))),
	})
	first := trusting(at(data(string(root.ca))), at(data(string(keeper.ca))))
	d := resolved(t, config(first+","+merge(at(root.URL+"/child"))), quick())
	if string(d.Contents["/a"]) != "a" || len(d.Config.Ignition.Security.TLS.CertificateAuthorities) != 3 {
		t.Errorf("%v: %s", contentsOf(t, d), indent(t, d.Config.Ignition))
	}
	refused(t, config(first+","+merge(at(root.URL+"/other"))), quick(), report.Refused,
		"merged config 1: fetching "+secret.URL+"/deep: its certificate is signed")

	// A replacement config has its own settings, and contents are fetched with only those.
	replacing := visitTLS(t, map[string]http.HandlerFunc{"/new": says(config("", file("/a", at(secret.URL+"/a"))))})
	both := trusting(at(data(string(replacing.ca))), at(data(string(secret.ca))))
	refused(t, config(both+","+replace(at(replacing.URL+"/new"))), quick(), report.Refused, "file /a: fetching "+secret.URL+"/a: its certificate is signed")
}

// The parent's settings apply if the config has none, and are not part of the document.
func TestParent(t *testing.T) {
	s := visitTLS(t, map[string]http.HandlerFunc{"/a": says("a"), "/b": says(config("", file("/b", at(data("b")))))})
	parent, _, _, err := Parse([]byte(config(trusting(at(data(string(s.ca)))) + "," + merge(at("https://never.example.com/")))))
	if err != nil {
		t.Fatal(err)
	}
	o := quick()
	o.Parent = parent.Ignition
	d := resolved(t, config(merge(at(s.URL+"/b")), file("/a", at(s.URL+"/a"))), o)
	if string(d.Contents["/a"])+string(d.Contents["/b"]) != "ab" || len(d.Config.Ignition.Security.TLS.CertificateAuthorities) != 0 {
		t.Errorf("%v: %s", contentsOf(t, d), indent(t, d.Config.Ignition))
	}
}

// forward is a proxy that sends all requests to one server, whatever the requested name, and
// records them.
type forward struct {
	*httptest.Server
	mutex sync.Mutex
	asked []string
}

func newForward(t *testing.T, to string, status int) *forward {
	t.Helper()
	p := &forward{}
	p.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.mutex.Lock()
		p.asked = append(p.asked, strings.TrimSpace(fmt.Sprintf("%s %s %s", r.Method, r.RequestURI, r.Header.Get("Proxy-Authorization"))))
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

func (p *forward) tunnel(t *testing.T, w http.ResponseWriter, to string) {
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

func (p *forward) got() string {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	return strings.Join(p.asked, "; ")
}

// The config's proxy is used for http and https, and the proxy of the environment is not.
func TestProxy(t *testing.T) {
	s := visitTLS(t, map[string]http.HandlerFunc{"/a": says("by tunnel")}, "web.example.com")
	p := newForward(t, s.Listener.Addr().String(), http.StatusOK)
	trap := newForward(t, "", http.StatusTeapot)
	for _, name := range []string{"http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"} {
		t.Setenv(name, trap.URL)
	}
	proxy := func(url string, no ...string) string {
		direct := ""
		if len(no) > 0 {
			direct = fmt.Sprintf(`,"noProxy":[%q]`, no[0])
		}
		return fmt.Sprintf(`"proxy":{"httpProxy":%q,"httpsProxy":%q%s},`, url, url, direct) + trusting(at(data(string(s.ca))))
	}
	through := strings.Replace(p.URL, "//", "//me:"+canary+"@", 1)
	secure, clear := file("/s", at("https://web.example.com/a")), file("/c", at("http://files.example.com/c"))
	d := resolved(t, config(proxy(through), secure, clear), quick())
	if string(d.Contents["/s"]) != "by tunnel" || string(d.Contents["/c"]) != "by proxy" {
		t.Errorf("contents %v", contentsOf(t, d))
	}
	basic := " Basic bWU6aHVudGVyMg=="
	if want := "CONNECT web.example.com:443" + basic + "; GET http://files.example.com/c" + basic; p.got() != want {
		t.Errorf("the proxy was asked for %q, want %q", p.got(), want)
	}
	// Without the proxy the name does not resolve.
	refused(t, config(proxy(through, ".invalid"), file("/a", at("https://web.invalid/a"))), quick(), report.Failed, "web.invalid")
	for _, request := range s.got() {
		if request.Host != "web.example.com" {
			t.Errorf("the server was asked as %s", request.Host)
		}
	}
	refusing, broken := newForward(t, "", http.StatusForbidden), newForward(t, "", http.StatusBadGateway)
	refused(t, config(proxy(refusing.URL), secure), quick(), report.Refused, "refuses to connect to web.example.com:443: 403 Forbidden")
	refused(t, config(proxy(refusing.URL), clear), quick(), report.CredentialRefused, "HTTP 403")
	refused(t, config(proxy(broken.URL), secure), quick(), report.Refused, "502 Bad Gateway", " tries in ")
	refused(t, config(proxy("http://127.0.0.1:1"), secure), quick(), report.Failed, "the proxy cannot be reached: connection refused")
	if trap.got() != "" {
		t.Errorf("the environment's proxy was asked for %s", trap.got())
	}
}
