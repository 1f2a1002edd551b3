// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/test/certtest"
)

// headerTimeout is the error of net/http for a server that accepts a connection and sends no
// response.
type headerTimeout struct{}

func (headerTimeout) Error() string        { return "net/http: timeout awaiting response headers" }
func (headerTimeout) Timeout() bool        { return true }
func (headerTimeout) Temporary() bool      { return true }
func (headerTimeout) Is(target error) bool { return target == context.DeadlineExceeded }

// The errors are those of net and net/http. The tests of the clients cause the ones that are
// possible on loopback.
func TestClassify(t *testing.T) {
	server := parseURL(t, "https://me:hunter2@host/path?sig=hunter2")
	proxy := parseURL(t, "http://me:hunter2@proxy:3128")
	wrap := func(err error) error { return &url.Error{Op: "Get", URL: server.String(), Err: err} }
	dial := func(err error) error {
		return wrap(&net.OpError{Op: "dial", Net: "tcp", Addr: &net.TCPAddr{IP: net.IPv4(192, 0, 2, 7), Port: 443}, Err: err})
	}
	refused := func(status int) error {
		return wrap(CheckConnect(t.Context(), proxy, nil, &http.Response{StatusCode: status}))
	}
	leaf := certtest.NewCA(t, "a CA").IssueServing(t, "a.example.com").Leaf
	expired := certtest.NewCA(t, "a CA").IssueServing(t, "a.example.com", func(c *x509.Certificate) {
		c.NotBefore, c.NotAfter = time.Now().Add(-2*time.Hour), time.Now().Add(-time.Hour)
	}).Leaf
	unverified := func(err error) error {
		return wrap(&tls.CertificateVerificationError{UnverifiedCertificates: []*x509.Certificate{leaf}, Err: err})
	}
	const (
		curl    = "curl -kvm 20 https://host/path"
		dns     = "getent ahosts host"
		openssl = "openssl s_client -connect host:443 -servername host -showcerts </dev/null"
		proxied = "curl -kvm 20 --proxy http://proxy:3128 https://host/path"
	)
	for name, test := range map[string]struct {
		err    error
		kind   Kind
		want   string
		remedy string
	}{
		"no such name": {
			dial(&net.DNSError{Err: "no such host", Name: "host", IsNotFound: true}), UnknownName,
			"the name host does not exist in DNS", dns,
		},
		"no name server": {
			dial(&net.DNSError{Err: "i/o timeout", Name: "host", IsTimeout: true}), NoNameServer,
			"the name host cannot be resolved: i/o timeout", dns,
		},
		"connection refused": {
			dial(os.NewSyscallError("connect", syscall.ECONNREFUSED)), Unreachable,
			"host:443 (192.0.2.7:443) refused the connection: no service listens on the port, or a firewall rejects it", curl,
		},
		"no route": {
			dial(os.NewSyscallError("connect", syscall.EHOSTUNREACH)), NoRoute, "no route to host:443 (192.0.2.7:443)",
			"ip route get $(getent ahosts host | awk 'NR==1{print $1}')",
		},
		"no network": {
			dial(os.NewSyscallError("connect", syscall.ENETUNREACH)), NoRoute, "no route to host:443 (192.0.2.7:443)",
			"ip route get $(getent ahosts host | awk 'NR==1{print $1}')",
		},
		"packets dropped": {
			dial(os.ErrDeadlineExceeded), Unreachable,
			"connecting to host:443 (192.0.2.7:443) timed out: a firewall may be dropping packets, or the address is wrong",
			curl,
		},
		"connection timeout": {
			dial(os.NewSyscallError("connect", syscall.ETIMEDOUT)), Unreachable,
			"connecting to host:443 (192.0.2.7:443) timed out: a firewall may be dropping packets, or the address is wrong",
			curl,
		},
		"deadline": {
			fmt.Errorf("requesting: %w", context.DeadlineExceeded), Unreachable,
			"host:443 did not respond in time; a firewall may be dropping packets", curl,
		},
		"no response": {
			wrap(headerTimeout{}), Unreachable, "host:443 accepted the connection and did not respond in time", curl,
		},
		"reset": {
			wrap(&net.OpError{Op: "read", Err: os.NewSyscallError("read", syscall.ECONNRESET)}), Unreachable,
			"host:443 closed the connection without a response", curl,
		},
		"reset while connecting": {
			dial(os.NewSyscallError("connect", syscall.ECONNRESET)), Unreachable,
			"host:443 (192.0.2.7:443) closed the connection without a response", curl,
		},
		"closed":        {wrap(io.ErrUnexpectedEOF), Unreachable, "host:443 closed the connection without a response", curl},
		"another error": {wrap(errors.New("strange")), Unreachable, "the request to host:443 failed: strange", curl},
		"no proxy": {
			wrap(&net.OpError{Op: "proxyconnect", Err: io.EOF}), ProxyUnreachable,
			"the proxy http://proxy:3128 is unreachable: EOF", proxied,
		},
		"proxy name": {
			wrap(&net.OpError{Op: "proxyconnect", Err: &net.DNSError{Err: "no such host", Name: "proxy", IsNotFound: true}}),
			ProxyUnreachable,
			"the proxy http://proxy:3128 is unreachable: lookup proxy: no such host", proxied,
		},
		"proxy refuses": {
			refused(http.StatusForbidden), ProxyRefused,
			"the proxy http://proxy:3128 refused to connect to host:443: HTTP 403 Forbidden", proxied,
		},
		"proxy overloaded": {
			refused(http.StatusServiceUnavailable), ProxyRefused,
			"the proxy http://proxy:3128 refused to connect to host:443: HTTP 503 Service Unavailable", proxied,
		},
		"proxy authentication": {
			refused(http.StatusProxyAuthRequired), ProxyAuthentication,
			"the proxy http://proxy:3128 refused to connect to host:443: HTTP 407 Proxy Authentication Required", proxied,
		},
		"proxy refuses, without the hook": {
			wrap(errors.New("Forbidden")), ProxyRefused,
			"the proxy http://proxy:3128 refused to connect to host:443: HTTP 403 Forbidden", proxied,
		},
		"no TLS":              {wrap(tls.RecordHeaderError{}), NoTLS, "host:443 does not use TLS", openssl},
		"HTTP instead of TLS": {wrap(http.ErrSchemeMismatch), NoTLS, "host:443 does not use TLS", openssl},
		"TLS alert": {
			wrap(&net.OpError{Op: "remote error", Err: errors.New("handshake failure")}), Handshake,
			"host:443 refused the TLS handshake: handshake failure", openssl,
		},
		"unknown CA": {
			unverified(x509.UnknownAuthorityError{Cert: leaf}), UnknownAuthority,
			`the certificate of host:443 is signed by "CN=a CA,OU=openshift", which is not a trusted CA`, openssl,
		},
		"another name": {
			unverified(x509.HostnameError{Certificate: leaf, Host: "host"}), WrongName,
			"the certificate of host:443 is valid for a.example.com, not for host", openssl,
		},
		"no name": {
			unverified(x509.HostnameError{Certificate: &x509.Certificate{}, Host: "host"}), WrongName,
			"the certificate of host:443 is valid for no names, not for host", openssl,
		},
		"expired": {
			unverified(x509.CertificateInvalidError{Cert: expired, Reason: x509.Expired}), OutsideValidity,
			`the certificate "CN=ignition-server" of host:443 expired at `,
			"timedatectl; chronyc tracking # if the clock is wrong: chronyc makestep",
		},
		"too many CAs": {
			unverified(x509.CertificateInvalidError{Cert: leaf, Reason: x509.TooManyIntermediates}), Unverified,
			"the certificate of host:443 cannot be verified: x509: too many intermediates for path length constraint", openssl,
		},
	} {
		t.Run(name, func(t *testing.T) {
			e := Classify(server, proxy, test.err)
			if e.Kind != test.kind || !strings.HasPrefix(e.Message, test.want) || string(e.Remedy) != test.remedy ||
				e.Address != "host:443" {
				t.Errorf("Classify(%v) = %s, %q, remedy %q, address %s", test.err, e.Kind, e.Message, e.Remedy, e.Address)
			}
			if strings.Contains(e.Error()+string(e.Remedy), "hunter2") {
				t.Errorf("Classify(%v) contains a password: %q, remedy %q", test.err, e, e.Remedy)
			}
			if !errors.Is(e, test.err) {
				t.Error("the cause is lost")
			}
			wantCode, wantTemporary := report.Failed, true
			switch test.kind {
			case NoTLS, Handshake, UnknownAuthority, WrongName, OutsideValidity, Unverified, ProxyRefused, ProxyAuthentication:
				wantCode, wantTemporary = report.Refused, name == "proxy overloaded"
			}
			if e.Code != wantCode || e.Temporary != wantTemporary {
				t.Errorf("Classify(%v) has code %d, temporary %t, want code %d, temporary %t", test.err, e.Code, e.Temporary,
					wantCode, wantTemporary)
			}
		})
	}
	if e := Classify(server, nil, errors.New("Forbidden")); e.Kind != Unreachable {
		t.Errorf("without a proxy: %s, %q", e.Kind, e)
	}
}

func TestClassifyDefaultPorts(t *testing.T) {
	for text, want := range map[string]string{
		"http://host/":           "host:80",
		"https://host":           "host:443",
		"https://[fd00::1]:6443": "[fd00::1]:6443",
	} {
		if e := Classify(parseURL(t, text), nil, io.EOF); e.Address != want {
			t.Errorf("%s: address %s, want %s", text, e.Address, want)
		}
	}
}

func parseURL(t *testing.T, text string) *url.URL {
	t.Helper()
	parsed, err := url.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return parsed
}
