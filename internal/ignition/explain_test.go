package ignition

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/hcp-node-agent/hcp-node-agent/internal/certtest"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// Ways in which no connection comes about, as net and net/http tell them. Those
// that can be made on loopback are made, in the tests below.
func TestExplain(t *testing.T) {
	wrap := func(err error) error {
		return &url.Error{Op: "Get", URL: "https://ignition.demo.example.com/ignition", Err: err}
	}
	dial := func(err error) error {
		return wrap(&net.OpError{Op: "dial", Net: "tcp", Addr: &net.TCPAddr{IP: net.IPv4(192, 0, 2, 7), Port: 443}, Err: err})
	}
	tests := []struct {
		name      string
		err       error
		code      report.Code
		temporary bool
		want      string
	}{
		{"no such name", dial(&net.DNSError{Err: "no such host", Name: "ignition.demo.example.com", IsNotFound: true}), report.Refused, false, "the name ignition.demo.example.com does not exist in DNS"},
		{"no name server", dial(&net.DNSError{Err: "i/o timeout", Name: "ignition.demo.example.com", IsTimeout: true}), report.Failed, true, "no name server answers for ignition.demo.example.com (i/o timeout)"},
		{"refused", dial(os.NewSyscallError("connect", syscall.ECONNREFUSED)), report.Failed, true, "ignition.demo.example.com:443 (192.0.2.7:443) refuses the connection"},
		{"no route", dial(os.NewSyscallError("connect", syscall.EHOSTUNREACH)), report.Failed, true, "there is no route to ignition.demo.example.com:443 (192.0.2.7:443)"},
		{"no network", dial(os.NewSyscallError("connect", syscall.ENETUNREACH)), report.Failed, true, "there is no route to"},
		{"dropped", dial(os.ErrDeadlineExceeded), report.Failed, true, "does not answer the connection: a firewall drops it"},
		{"silent", wrap(context.DeadlineExceeded), report.Failed, true, "took the connection and did not answer in time"},
		{"reset", wrap(&net.OpError{Op: "read", Err: os.NewSyscallError("read", syscall.ECONNRESET)}), report.Failed, true, "closed the connection without an answer"},
		{"ended", wrap(io.EOF), report.Failed, true, "closed the connection without an answer"},
		{"anything else", wrap(errors.New("strange")), report.Failed, true, "asking ignition.demo.example.com:443 failed: strange"},
	}
	stub, err := NewStub(Values{Endpoint: "ignition.demo.example.com", CA: certtest.NewAuthority(t, "ca").PEM})
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var no *refusal
			if !errors.As(explain(stub, "", test.err), &no) {
				t.Fatal("it is not explained")
			}
			if no.code != test.code || no.temporary != test.temporary || !strings.Contains(no.what, test.want) || no.remedy == "" {
				t.Errorf("code %d, temporary %t, %q, remedy %q", no.code, no.temporary, no.what, no.remedy)
			}
			if !errors.Is(no, test.err) && !errors.Is(test.err, no.cause) {
				t.Error("the cause is lost")
			}
		})
	}
}

func TestFetchRefusedPort(t *testing.T) {
	stub, err := NewStub(Values{Endpoint: refusedPort(t), CA: certtest.NewAuthority(t, "ca").PEM})
	if err != nil {
		t.Fatal(err)
	}
	log := &events{}
	fetcher := quick()
	fetcher.Log = report.Log{Sink: log}
	_, err = fetcher.Fetch(t.Context(), stub)
	checkFailure(t, err, report.Failed, "refuses the connection")
	if !strings.Contains(log.text(), "asked again until") {
		t.Error("it was not tried again")
	}
}

// connectProxy lets every connection through to one address, or refuses with a
// status. It keeps what was asked of it.
func connectProxy(t *testing.T, status int, to string) (address string, asked func() string) {
	t.Helper()
	var mutex sync.Mutex
	var line string
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mutex.Lock()
		line = fmt.Sprintf("%s %s %s", r.Method, r.Host, r.Header.Get("Proxy-Authorization"))
		mutex.Unlock()
		if status != http.StatusOK {
			w.WriteHeader(status)
			return
		}
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
		go copyAll(server, buffered)
		_, _ = io.Copy(client, server)
	}))
	t.Cleanup(proxy.Close)
	return proxy.Listener.Addr().String(), func() string {
		mutex.Lock()
		defer mutex.Unlock()
		return line
	}
}

func copyAll(to net.Conn, from *bufio.ReadWriter) { _, _ = io.Copy(to, from) }

// The stub's proxy is used, and told apart from the server when it refuses.
func TestFetchThroughProxy(t *testing.T) {
	s := serve(t, certtest.NewAuthority(t, "ignition-root-ca"), "ignition.demo.example.com", served)
	address, asked := connectProxy(t, http.StatusOK, s.Listener.Addr().String())
	through := func(proxy string, no ...string) *Stub {
		return s.stub(t, func(v *Values) {
			v.Endpoint, v.Proxy = "ignition.demo.example.com", Proxy{HTTPS: proxy, No: no}
		})
	}
	if _, err := quick().Fetch(t.Context(), through("http://me:hunter2@"+address)); err != nil {
		t.Fatal(err)
	}
	if want := "CONNECT ignition.demo.example.com:443 Basic bWU6aHVudGVyMg=="; asked() != want {
		t.Errorf("the proxy was asked %q, want %q", asked(), want)
	}
	fetcher := quick()
	fetcher.ConnectTo = "ignition.other.example.com:31234"
	if _, err := fetcher.Fetch(t.Context(), through("http://"+address)); err != nil {
		t.Fatal(err)
	}
	if want := "CONNECT ignition.other.example.com:31234 "; asked() != want {
		t.Errorf("the proxy was asked %q, want %q", asked(), want)
	}
	fetcher.ConnectTo = s.Listener.Addr().String()
	if _, err := fetcher.Fetch(t.Context(), through("http://"+refusedPort(t), "127.0.0.0/8")); err != nil {
		t.Errorf("noProxy does not count: %v", err)
	}

	tests := []struct {
		name, proxy string
		code        report.Code
		want        string
	}{
		{"407", "http://me:hunter2@" + refusing(t, http.StatusProxyAuthRequired), report.Refused, "refuses to connect to ignition.demo.example.com:443: 407 Proxy Authentication Required"},
		{"403", "http://" + refusing(t, http.StatusForbidden), report.Refused, "403 Forbidden"},
		{"503", "http://" + refusing(t, http.StatusServiceUnavailable), report.Refused, "503 Service Unavailable"},
		{"not there", "http://" + refusedPort(t), report.Failed, "the proxy of the stub cannot be reached: connection refused"},
		{"https", "https://proxy.example.com:3129", report.Usage, "is not an http one"},
		{"not a URL", "http://me:hunter2@%zz", report.Usage, "the https proxy of the stub is not a URL"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := quick().Fetch(t.Context(), through(test.proxy))
			checkFailure(t, err, test.code, test.want)
			if strings.Contains(err.Error(), "hunter2") {
				t.Errorf("the proxy's password is shown: %v", err)
			}
		})
	}
}

func refusing(t *testing.T, status int) string {
	t.Helper()
	address, _ := connectProxy(t, status, "")
	return address
}
