// SPDX-License-Identifier: Apache-2.0

//go:build controlplane

package ignition_test

import (
	"crypto/ecdsa"
	"crypto/tls"
	"crypto/x509"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/test/certtest"
	"github.com/hcp-node-agent/hcp-node-agent/test/loopback"
	"github.com/hcp-node-agent/hcp-node-agent/test/reporttest"
	"github.com/hcp-node-agent/hcp-node-agent/test/waittest"
)

// haproxyConfig is HyperShift's configuration of ignition-server-proxy
// (control-plane-operator/controllers/hostedcontrolplane/v2/ignitionserver_proxy), with other addresses and paths.
const haproxyConfig = `defaults
  mode http
  timeout connect 5s
  timeout client 30s
  timeout server 30s

frontend ignition-server
  bind FRONT ssl crt TLS alpn http/1.1
  default_backend ignition_servers

backend ignition_servers
  server ignition-server SERVICE check ssl ca-file CA alpn http/1.1
`

// replica is an ignition server behind HAProxy. It has payloads unless it was just started.
type replica struct {
	*httptest.Server
	isCold, isDone atomic.Bool
}

// proxied is an ignition server with two replicas behind a Service and the real HAProxy.
type proxied struct {
	front    string // HOST:PORT of HAProxy
	dir      string // with the files of HAProxy
	ca       *certtest.CA
	process  *exec.Cmd
	replicas []*replica
	userData *ignition.UserData
	// instead responds to a request in place of a replica, with the number of the request; nil for the usual response.
	instead func(number int32, w http.ResponseWriter) bool
}

const ignitionHost = "ignition.example.com"

// startProxied starts the replicas, which serve body and abort slow transfers as the ignition server does, and HAProxy.
func startProxied(t *testing.T, body string) *proxied {
	t.Helper()
	p := &proxied{front: loopback.FreeAddress(t), dir: t.TempDir(), ca: certtest.NewCA(t, "ignition-root-ca")}
	var requests atomic.Int32
	for range 2 {
		r := &replica{}
		r.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
			switch {
			case request.URL.Path != "/ignition":
				http.NotFound(w, request)
			case p.instead != nil && p.instead(requests.Add(1), w):
			case r.isCold.Load():
				http.Error(w, "Token not found", http.StatusNetworkAuthenticationRequired)
			default:
				_, _ = io.WriteString(w, body)
				r.isDone.Store(true)
			}
		}))
		r.TLS = &tls.Config{
			Certificates: []tls.Certificate{p.ca.IssueServing(t, ignitionHost)}, MinVersion: tls.VersionTLS12,
		}
		r.Config.ErrorLog = log.New(t.Output(), "", 0)
		r.StartTLS()
		t.Cleanup(r.Close)
		p.replicas = append(p.replicas, r)
	}
	p.write(t, "ca.crt", p.ca.PEM)
	p.write(t, "haproxy.conf", []byte(strings.NewReplacer("FRONT", p.front, "TLS", filepath.Join(p.dir, "tls.pem"),
		"CA", filepath.Join(p.dir, "ca.crt"), "SERVICE", p.service(t)).Replace(haproxyConfig)))
	p.setCertificate(t)
	p.restart(t)
	var err error
	p.userData, err = ignition.NewUserData(ignition.Values{
		Endpoint: ignitionHost, Token: []byte("7e5b7b9e-8e0e-4d5b-9f4b-0d3c5a1e2f30"), CA: p.ca.PEM,
		NodePool: "clusters/workers", Hash: "844282c1",
	})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func (p *proxied) write(t *testing.T, name string, content []byte) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(p.dir, name), content, 0o600); err != nil {
		t.Fatal(err)
	}
}

// setCertificate writes the certificate and key of HAProxy to their file, which HAProxy reads when it starts.
func (p *proxied) setCertificate(t *testing.T, edit ...func(*x509.Certificate)) {
	t.Helper()
	pair := p.ca.IssueServing(t, ignitionHost, edit...)
	p.write(t, "tls.pem", append(certtest.PEM("CERTIFICATE", pair.Certificate[0]),
		certtest.KeyPEM(t, pair.PrivateKey.(*ecdsa.PrivateKey))...))
}

// restart starts HAProxy, after the end of the process that runs already.
func (p *proxied) restart(t *testing.T) {
	t.Helper()
	haproxy, err := exec.LookPath("haproxy")
	if err != nil {
		haproxy = "/usr/sbin/haproxy" // not in the PATH of users
	}
	if p.process != nil {
		p.stop()
	} else {
		t.Cleanup(p.stop)
	}
	p.process = exec.CommandContext(t.Context(), haproxy, "-db", "-f", filepath.Join(p.dir, "haproxy.conf"))
	p.process.Stdout, p.process.Stderr = t.Output(), t.Output()
	if err := p.process.Start(); err != nil {
		t.Fatal(err)
	}
	waittest.UntilTrue(t, "waiting until HAProxy listens", func() bool {
		conn, err := net.Dial("tcp", p.front)
		if err == nil {
			conn.Close()
		}
		return err == nil
	})
}

func (p *proxied) stop() {
	_ = p.process.Process.Kill()
	_ = p.process.Wait()
}

// service forwards each connection to the next replica, as the Service of the ignition server, and returns its address.
func (p *proxied) service(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	go func() {
		for n := 0; ; n++ {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			server, err := net.Dial("tcp", p.replicas[n%len(p.replicas)].Listener.Addr().String())
			if err != nil {
				client.Close()
				continue
			}
			for from, to := range map[net.Conn]net.Conn{client: server, server: client} {
				go func() {
					_, _ = io.Copy(to, from)
					to.Close()
				}()
			}
		}
	}()
	return listener.Addr().String()
}

func (p *proxied) fetch(t *testing.T, budget time.Duration) error {
	t.Helper()
	_, err := ignition.Fetcher{ConnectTo: p.front, RetryTimeout: budget}.Fetch(t.Context(), p.userData)
	return err
}

const smallPayload = `{"ignition":{"version":"3.2.0"}}`

// A replica that was just started rejects the token that the other one accepts: a rejected token is requested again.
func TestControlPlaneHAProxyWithAColdReplica(t *testing.T) {
	p := startProxied(t, smallPayload)
	p.replicas[0].isCold.Store(true)
	for range 4 { // whichever replica is next
		if err := p.fetch(t, 0); err != nil {
			t.Error(err)
		}
	}
	p.replicas[1].isCold.Store(true)
	reporttest.CheckFailure(t, p.fetch(t, time.Nanosecond), report.CredentialRefused, "(HTTP 511)")
}

// Without an ignition server, HAProxy itself responds.
func TestControlPlaneHAProxyWithoutServer(t *testing.T) {
	p := startProxied(t, smallPayload)
	for _, one := range p.replicas {
		one.Close()
	}
	reporttest.CheckFailure(t, p.fetch(t, time.Nanosecond), report.Failed,
		"the ignition server is unreachable for the proxy in front of it (HTTP 503)")
}

// HAProxy takes the payload from the ignition server although the host does not read it yet. So the write timeout of
// the ignition server does not limit hosts on slow links.
func TestControlPlaneHAProxyTakesThePayload(t *testing.T) {
	body := `{"ignition":{"version":"3.2.0"},"x":"` + strings.Repeat("x", 440_000) + `"}`
	p := startProxied(t, body)
	conn, err := tls.Dial("tcp", p.front, &tls.Config{InsecureSkipVerify: true}) //nolint:gosec // only of the test
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	const request = "GET /ignition HTTP/1.1\r\nHost: " + ignitionHost + "\r\nConnection: close\r\n\r\n"
	if _, err := io.WriteString(conn, request); err != nil {
		t.Fatal(err)
	}
	waittest.UntilTrue(t, "waiting until a replica has sent the payload, which no host has read", func() bool {
		return p.replicas[0].isDone.Load() || p.replicas[1].isDone.Load()
	})
	content, err := io.ReadAll(conn)
	if err != nil || !strings.Contains(string(content), `"x":"`) || len(content) < len(body) {
		t.Errorf("%d bytes, %v", len(content), err)
	}
}
