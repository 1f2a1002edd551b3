// SPDX-License-Identifier: Apache-2.0

package ignition

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/transport"
	"github.com/hcp-node-agent/hcp-node-agent/test/certtest"
	"github.com/hcp-node-agent/hcp-node-agent/test/loopback"
)

// explainedError returns an error as the fetcher reports it for user data.
func explainedError(userData *UserData, err error) *transport.Error {
	e := transport.Classify(userData.Source, nil, err)
	explain(userData, e)
	return e
}

// An unknown name of an ignition server is not retried, because it may exist only inside the
// cluster's network.
func TestFetchDoesNotRetryUnknownName(t *testing.T) {
	userData, err := NewUserData(Values{Endpoint: "ignition.demo.example.com", CA: certtest.NewCA(t, "ca").PEM})
	if err != nil {
		t.Fatal(err)
	}
	e := explainedError(userData, &net.DNSError{Err: "no such host", Name: "ignition.demo.example.com", IsNotFound: true})
	if e.Temporary {
		t.Error("it is retried")
	}
	checkFailure(t, e.Failure("fetching payload"), report.Refused,
		"the name ignition.demo.example.com does not exist in DNS")
	if !strings.Contains(string(e.Remedy), "--connect-to") {
		t.Errorf("remedy %q", e.Remedy)
	}
}

func TestFetchReportsRefusedConnection(t *testing.T) {
	userData, err := NewUserData(Values{Endpoint: loopback.FreeAddress(t), CA: certtest.NewCA(t, "ca").PEM})
	if err != nil {
		t.Fatal(err)
	}
	log := &events{}
	fetcher := quickFetcher()
	fetcher.Log = report.Log{Sink: log}
	_, err = fetcher.Fetch(t.Context(), userData)
	checkFailure(t, err, report.Failed, "refused the connection")
	if !strings.Contains(log.text(), "retrying until") {
		t.Error("it was not tried again")
	}
}

// With ConnectTo, the error names the address that was tried instead of the endpoint's.
func TestFetchReportsConnectToAddress(t *testing.T) {
	userData, err := NewUserData(Values{Endpoint: "ignition.demo.example.com", CA: certtest.NewCA(t, "ca").PEM})
	if err != nil {
		t.Fatal(err)
	}
	fetcher := quickFetcher()
	fetcher.ConnectTo = loopback.FreeAddress(t)
	_, err = fetcher.Fetch(t.Context(), userData)
	checkFailure(t, err, report.Failed, fetcher.ConnectTo+" refused the connection")
	if !strings.Contains(string(report.RemedyOf(err)), "https://"+fetcher.ConnectTo+"/healthz") {
		t.Errorf("remedy %q", report.RemedyOf(err))
	}
}

// connectProxy starts a proxy that connects every request to one address, or rejects it with a
// status. It records the last request line.
func connectProxy(t *testing.T, status int, to string) (address string, requests func() string) {
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
		go copyStream(server, buffered)
		_, _ = io.Copy(client, server)
	}))
	t.Cleanup(proxy.Close)
	return proxy.Listener.Addr().String(), func() string {
		mutex.Lock()
		defer mutex.Unlock()
		return line
	}
}

func copyStream(to net.Conn, from *bufio.ReadWriter) { _, _ = io.Copy(to, from) }

// The proxy of the user data is used, and its errors are distinguished from those of the server.
func TestFetchThroughProxy(t *testing.T) {
	s := startServer(t, certtest.NewCA(t, "ignition-root-ca"), "ignition.demo.example.com", servePayload)
	address, requests := connectProxy(t, http.StatusOK, s.Listener.Addr().String())
	through := func(proxy string, no ...string) *UserData {
		userData := s.userData(t, func(v *Values) { v.Endpoint = "ignition.demo.example.com" })
		userData.Proxy = Proxy{HTTPS: proxy, No: no}
		return userData
	}
	if _, err := quickFetcher().Fetch(t.Context(), through("http://me:hunter2@"+address)); err != nil {
		t.Fatal(err)
	}
	if want := "CONNECT ignition.demo.example.com:443 Basic bWU6aHVudGVyMg=="; requests() != want {
		t.Errorf("the proxy was asked %q, want %q", requests(), want)
	}
	fetcher := quickFetcher()
	fetcher.ConnectTo = "ignition.other.example.com:31234"
	if _, err := fetcher.Fetch(t.Context(), through("http://"+address)); err != nil {
		t.Fatal(err)
	}
	if want := "CONNECT ignition.other.example.com:31234 "; requests() != want {
		t.Errorf("the proxy was asked %q, want %q", requests(), want)
	}
	fetcher.ConnectTo = s.Listener.Addr().String()
	if _, err := fetcher.Fetch(t.Context(), through("http://"+loopback.FreeAddress(t), "127.0.0.0/8")); err != nil {
		t.Errorf("noProxy does not count: %v", err)
	}

	tests := []struct {
		name, proxy string
		code        report.Code
		want        string
	}{
		{
			"407", "http://me:hunter2@" + rejectingServer(t, http.StatusProxyAuthRequired), report.Refused,
			"refused to connect to ignition.demo.example.com:443: HTTP 407 Proxy Authentication Required",
		},
		{"403", "http://" + rejectingServer(t, http.StatusForbidden), report.Refused, "403 Forbidden"},
		{"503", "http://" + rejectingServer(t, http.StatusServiceUnavailable), report.Refused, "503 Service Unavailable"},
		{"not there", "http://" + loopback.FreeAddress(t), report.Failed, " is unreachable: connection refused"},
		{"https", "https://proxy.example.com:3129", report.Usage, "is not an HTTP proxy"},
		{"not a URL", "http://me:hunter2@%zz", report.Usage, "the HTTPS proxy in the user data is not a valid URL"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := quickFetcher().Fetch(t.Context(), through(test.proxy))
			checkFailure(t, err, test.code, test.want)
			if strings.Contains(err.Error(), "hunter2") {
				t.Errorf("the proxy's password is shown: %v", err)
			}
		})
	}
}

func rejectingServer(t *testing.T, status int) string {
	t.Helper()
	address, _ := connectProxy(t, status, "")
	return address
}
