package fetch

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"io"
	"net"
	"net/url"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/certtest"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

func TestBackoffDoublesUpToMaximum(t *testing.T) {
	for attempts, most := range map[int]time.Duration{1: time.Second, 2: 2 * time.Second, 4: 8 * time.Second, 5: maxBackoff, 500: maxBackoff} {
		for range 100 {
			if pause := (&Client{}).backoff(attempts); pause < most/2 || pause > most {
				t.Errorf("pause after %d attempts is %s, want %s to %s", attempts, pause, most/2, most)
			}
		}
	}
}

// The errors are those of net and net/http. The tests of the clients cause the ones that are
// possible on loopback.
func TestClassify(t *testing.T) {
	target, err := url.Parse("https://me:hunter2@host/?sig=hunter2")
	if err != nil {
		t.Fatal(err)
	}
	wrap := func(err error) error { return &url.Error{Op: "Get", URL: target.String(), Err: err} }
	dial := func(err error) error {
		return wrap(&net.OpError{Op: "dial", Net: "tcp", Addr: &net.TCPAddr{IP: net.IPv4(192, 0, 2, 7), Port: 443}, Err: err})
	}
	for name, test := range map[string]struct {
		err       error
		kind      Kind
		code      report.Code
		temporary bool
		want      string
	}{
		"no such name":     {dial(&net.DNSError{Err: "no such host", Name: "host", IsNotFound: true}), UnknownName, report.Failed, true, "the name host does not exist in DNS"},
		"no name server":   {dial(&net.DNSError{Err: "i/o timeout", Name: "host", IsTimeout: true}), NoNameServer, report.Failed, true, "no name server answers for host (i/o timeout)"},
		"refused":          {dial(os.NewSyscallError("connect", syscall.ECONNREFUSED)), Unreachable, report.Failed, true, "host:443 (192.0.2.7:443) refuses the connection"},
		"no route":         {dial(os.NewSyscallError("connect", syscall.EHOSTUNREACH)), NoRoute, report.Failed, true, "there is no route to host:443 (192.0.2.7:443)"},
		"no network":       {dial(os.NewSyscallError("connect", syscall.ENETUNREACH)), NoRoute, report.Failed, true, "there is no route to host:443 (192.0.2.7:443)"},
		"packets dropped":  {dial(os.ErrDeadlineExceeded), Unreachable, report.Failed, true, "host:443 (192.0.2.7:443) does not answer the connection: a firewall drops it"},
		"no response":      {wrap(context.DeadlineExceeded), Unreachable, report.Failed, true, "host:443 took the connection and did not answer in time"},
		"reset":            {wrap(&net.OpError{Op: "read", Err: os.NewSyscallError("read", syscall.ECONNRESET)}), Unreachable, report.Failed, true, "host:443 closed the connection without an answer"},
		"closed":           {wrap(io.ErrUnexpectedEOF), Unreachable, report.Failed, true, "host:443 closed the connection without an answer"},
		"another error":    {wrap(errors.New("strange")), Unreachable, report.Failed, true, "asking host:443 failed: strange"},
		"no proxy":         {wrap(&net.OpError{Op: "proxyconnect", Err: io.EOF}), ProxyUnreachable, report.Failed, true, "the proxy cannot be reached: EOF"},
		"proxy refuses":    {wrap(&proxyError{proxy: "http://p", target: "host:443", status: 403}), ProxyRefused, report.Refused, false, "the proxy http://p refuses to connect to host:443: 403 Forbidden"},
		"proxy overloaded": {wrap(&proxyError{status: 503}), ProxyRefused, report.Refused, true, "503 Service Unavailable"},
		"no TLS":           {wrap(tls.RecordHeaderError{}), NoTLS, report.Refused, false, "host:443 does not speak TLS"},
		"TLS alert":        {wrap(&net.OpError{Op: "remote error", Err: errors.New("handshake failure")}), Handshake, report.Refused, false, "it refuses the TLS handshake: handshake failure"},
	} {
		t.Run(name, func(t *testing.T) {
			e := Classify(target, "", test.err)
			if e.Kind != test.kind || e.Code != test.code || e.Temporary != test.temporary || !strings.HasPrefix(e.Message, test.want) && !strings.HasSuffix(e.Message, test.want) {
				t.Errorf("%s, code %d, temporary %t, %q", e.Kind, e.Code, e.Temporary, e.Message)
			}
			if e.Remedy == "" || strings.Contains(e.Error()+string(e.Remedy), "hunter2") {
				t.Errorf("%q, remedy %q", e, e.Remedy)
			}
			if !errors.Is(e, test.err) {
				t.Error("the cause is lost")
			}
		})
	}
	if e := Classify(target, "192.0.2.8:31234", io.EOF); e.Address != "192.0.2.8:31234" {
		t.Errorf("address %s", e.Address)
	}
}

func TestCertificates(t *testing.T) {
	now := time.Now()
	shown := certificate(t, now)
	if got := CertificateNames(shown); got != "a.example.com, 192.0.2.7" {
		t.Errorf("names %q", got)
	}
	if got := CertificateNames(&x509.Certificate{}); got != "no name at all" {
		t.Errorf("names %q", got)
	}
	for want, at := range map[string]time.Time{"is valid only from": now.Add(-2 * time.Hour), "has expired on": now.Add(2 * time.Hour)} {
		if what := validityProblem(shown, at); !strings.Contains(what, want) {
			t.Errorf("%q, want %q", what, want)
		}
	}
	good := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: shown.Raw}))
	bad := "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"
	key := "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"
	for text, want := range map[string]string{good: "", "a bundle\n" + key + good + "\n\n" + bad: "", bad + good: "cannot be read", key: "no PEM certificate", "": "no PEM certificate"} {
		if err := CheckCA([]byte(text)); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("CheckCA(%q) = %v, want %q", text, err, want)
		}
	}
}

func certificate(t *testing.T, now time.Time) *x509.Certificate {
	t.Helper()
	return certtest.NewCA(t, "a CA").IssueServing(t, "a.example.com", func(c *x509.Certificate) {
		c.NotBefore, c.NotAfter = now.Add(-time.Hour), now.Add(time.Hour)
		c.IPAddresses = []net.IP{net.IPv4(192, 0, 2, 7)}
	}).Leaf
}
