package wire

import (
	"context"
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
)

func TestPause(t *testing.T) {
	const first, longest = time.Second, 15 * time.Second
	for tries, most := range map[int]time.Duration{1: time.Second, 2: 2 * time.Second, 4: 8 * time.Second, 5: longest, 500: longest} {
		for range 100 {
			if pause := Pause(tries, first, longest); pause < most/2 || pause > most {
				t.Errorf("pause after %d tries is %s, want %s to %s", tries, pause, most/2, most)
			}
		}
	}
}

func TestConnection(t *testing.T) {
	wrap := func(err error) error {
		return &url.Error{Op: "Get", URL: "https://me:hunter2@host/?sig=hunter2", Err: err}
	}
	dial := func(err error) error {
		return wrap(&net.OpError{Op: "dial", Net: "tcp", Addr: &net.TCPAddr{IP: net.IPv4(192, 0, 2, 7), Port: 443}, Err: err})
	}
	tests := map[string]error{
		"host:443 (192.0.2.7:443) refuses the connection":                              dial(os.NewSyscallError("connect", syscall.ECONNREFUSED)),
		"there is no route to host:443 (192.0.2.7:443)":                                dial(os.NewSyscallError("connect", syscall.ENETUNREACH)),
		"host:443 (192.0.2.7:443) does not answer the connection: a firewall drops it": dial(os.ErrDeadlineExceeded),
		"host:443 took the connection and did not answer in time":                      wrap(context.DeadlineExceeded),
		"host:443 closed the connection without an answer":                             wrap(io.ErrUnexpectedEOF),
		"asking host:443 failed: strange":                                              wrap(errors.New("strange")),
	}
	for want, err := range tests {
		if got := Connection("host:443", err); !strings.HasPrefix(got, want) || strings.Contains(got, "hunter2") {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if proxy, _ := Dialled(wrap(&net.OpError{Op: "proxyconnect", Err: io.EOF})); !proxy {
		t.Error("a proxy that is not there is not told apart")
	}
}

func TestCertificates(t *testing.T) {
	now := time.Now()
	shown := certificate(t, now)
	if got := Names(shown); got != "a.example.com, 192.0.2.7" {
		t.Errorf("names %q", got)
	}
	if got := Names(&x509.Certificate{}); got != "no name at all" {
		t.Errorf("names %q", got)
	}
	for want, at := range map[string]time.Time{"is valid only from": now.Add(-2 * time.Hour), "has expired on": now.Add(2 * time.Hour)} {
		if what, remedy := OutOfTime(shown, at); !strings.Contains(what, want) || !strings.Contains(remedy, "timedatectl") {
			t.Errorf("%q, remedy %q, want %q", what, remedy, want)
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
	return certtest.NewAuthority(t, "a CA").Serve(t, "a.example.com", func(c *x509.Certificate) {
		c.NotBefore, c.NotAfter = now.Add(-time.Hour), now.Add(time.Hour)
		c.IPAddresses = []net.IP{net.IPv4(192, 0, 2, 7)}
	}).Leaf
}
