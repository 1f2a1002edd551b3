// SPDX-License-Identifier: Apache-2.0

package osimage

import (
	"context"
	"crypto/x509"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/random"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/test/registrytest"
	"github.com/hcp-node-agent/hcp-node-agent/test/reporttest"
)

const testPassword = "a-secret-of-the-test"

// trust returns the certificates of registries.
func trust(registries ...*registrytest.Registry) *x509.CertPool {
	pool := x509.NewCertPool()
	for _, r := range registries {
		pool.AddCert(r.Certificate())
	}
	return pool
}

func newImage(t *testing.T) v1.Image {
	t.Helper()
	image, err := random.Image(64, 2)
	if err != nil {
		t.Fatal(err)
	}
	return image
}

func newClient(roots *x509.CertPool) *Client {
	return &Client{Roots: roots, Arch: "amd64", Log: (&reporttest.Recorder{}).Log()}
}

func TestOpenVerifiesLayers(t *testing.T) {
	server, image := registrytest.New(t, ""), newImage(t)
	opened, err := newClient(trust(server)).Open(t.Context(), server.Push(t, "os", image))
	if err != nil {
		t.Fatal(err)
	}
	layers, err := opened.Layers()
	if err != nil || len(layers) != 2 {
		t.Fatalf("%d layers, %v", len(layers), err)
	}
	want, _ := image.ConfigName()
	if got, err := opened.ConfigName(); err != nil || got != want {
		t.Errorf("config %s, %v, want %s", got, err, want)
	}
}

// The first mirror does not respond, the second has the image and requires the pull secret.
func TestOpenTriesMirrors(t *testing.T) {
	origin, mirror := registrytest.New(t, ""), registrytest.New(t, testPassword)
	dead := registrytest.New(t, "")
	dead.Close()
	image := newImage(t)
	pushed := mirror.Push(t, "copies/os", image)
	digest, _ := image.Digest()
	client := newClient(trust(origin, mirror))
	client.RegistriesConf = fmt.Appendf(nil, `
[[registry]]
  prefix = ""
  location = "%[1]s/release"
  [[registry.mirror]]
    location = "%[2]s/release"
    pull-from-mirror = "digest-only"
  [[registry.mirror]]
    location = "%[3]s/copies"
    pull-from-mirror = "digest-only"
`, origin.Host, dead.Host, mirror.Host)
	client.PullSecret = registrytest.PullSecret(mirror.Host+"/copies", testPassword)
	opened, err := client.Open(t.Context(), origin.Host+"/release/os@"+digest.String())
	if err != nil {
		t.Fatal(err)
	}
	if opened.Source != pushed || origin.Requests.Load() != 0 {
		t.Errorf(
			"read from %s with %d requests to the registry, want %s and none", opened.Source, origin.Requests.Load(), pushed,
		)
	}
}

// attempts counts the attempts to reach a registry by their events.
type attempts int

func (a *attempts) Emit(report.Event) { *a++ }

// An interruption of the link that ends before the last attempt does not matter. One that lasts is an error.
func TestOpenBridgesInterruption(t *testing.T) {
	server, away := registrytest.New(t, ""), registrytest.New(t, "")
	pullSpec := server.Push(t, "os", newImage(t))
	away.Close()
	for interrupted, want := range map[attempts]string{
		openAttempts - 1: "", openAttempts: "is unreachable",
	} {
		var made attempts
		client := newClient(trust(server))
		client.Log = report.Log{Sink: &made}
		client.Proxy = func(*url.URL) (*url.URL, error) {
			if made <= interrupted {
				return &url.URL{Scheme: "http", Host: away.Host}, nil
			}
			return nil, nil //nolint:nilnil // there is no proxy
		}
		_, err := client.Open(t.Context(), pullSpec)
		if (err == nil) != (want == "") || !strings.Contains(fmt.Sprint(err), want) {
			t.Errorf("interrupted for %d attempts: %v", interrupted, err)
		}
	}
}

// A request that takes too long has timed out, but not one that its caller has ended.
func TestTimeout(t *testing.T) {
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	slow := &url.Error{Op: "Get", URL: "https://registry.example.com/v2/", Err: os.ErrDeadlineExceeded}
	for name, test := range map[string]struct {
		ctx  context.Context
		err  error
		want bool
	}{
		"slow":         {ctx: t.Context(), err: slow, want: true},
		"ended":        {ctx: ended, err: slow},
		"interruption": {ctx: t.Context(), err: syscall.ECONNRESET},
	} {
		if got := isTimeout(test.ctx, test.err); got != test.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

func TestOpenExplainsFailures(t *testing.T) {
	server, locked := registrytest.New(t, ""), registrytest.New(t, testPassword)
	image := newImage(t)
	digest, _ := image.Digest()
	absent := "/os@" + digest.String()
	for name, test := range map[string]struct {
		pullSpec, registries string
		secret               []byte
		code                 report.Code
		want                 string
	}{
		"no digest": {pullSpec: "registry.example.com/os:latest", code: report.Failed, want: "has no digest"},
		"absent": {
			pullSpec: server.Host + absent,
			code:     report.Failed,
			want:     server.Host + "/os: the registry does not have the image",
		},
		"no credentials": {
			pullSpec: locked.Host + absent,
			code:     report.CredentialRefused,
			want:     "contains no credentials for this registry",
		},
		"bad credentials": {
			pullSpec: locked.Host + absent,
			secret:   registrytest.PullSecret(locked.Host, "wrong"),
			code:     report.CredentialRefused,
			want:     "the registry rejects the pull secret",
		},
		"blocked": {
			pullSpec: server.Host + absent, registries: "[[registry]]\nlocation = \"" + server.Host + "\"\nblocked = true\n",
			code: report.Refused, want: "registries.conf blocks registry " + server.Host,
		},
		"bad registries": {
			pullSpec:   server.Host + absent,
			registries: "[[",
			code:       report.Failed,
			want:       "reading registries.conf: ",
		},
		"bad pull secret": {
			pullSpec: server.Host + absent,
			secret:   []byte("{"),
			code:     report.Failed,
			want:     "reading the pull secret: ",
		},
	} {
		t.Run(name, func(t *testing.T) {
			client := newClient(trust(server, locked))
			client.RegistriesConf, client.PullSecret = []byte(test.registries), test.secret
			_, err := client.Open(t.Context(), test.pullSpec)
			if err == nil || !strings.Contains(err.Error(), test.want) || report.CodeOf(err) != test.code {
				t.Fatalf("Open() = %v (code %d), want %q (code %d)", err, report.CodeOf(err), test.want, test.code)
			}
			if strings.Contains(err.Error(), testPassword) {
				t.Error("the error contains a password")
			}
		})
	}
}

// Credentials must not be sent to a registry whose certificate is unknown, unless registries.conf
// declares the registry insecure.
func TestOpenVerifiesCertificates(t *testing.T) {
	server := registrytest.New(t, "")
	pullSpec := server.Push(t, "os", newImage(t))
	client := newClient(x509.NewCertPool())
	if _, err := client.Open(t.Context(), pullSpec); err == nil || !strings.Contains(err.Error(), "is not a trusted CA") {
		t.Errorf("Open() = %v for an unknown CA", err)
	}
	client.RegistriesConf = []byte("[[registry]]\nlocation = \"" + server.Host + "\"\ninsecure = true\n")
	if _, err := client.Open(t.Context(), pullSpec); err != nil {
		t.Errorf("Open() = %v for an insecure registry", err)
	}
}

// The library falls back to HTTP on loopback and private addresses.
func TestOpenSendsNothingWithoutTLS(t *testing.T) {
	var requests atomic.Int32
	plain := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { requests.Add(1) }))
	t.Cleanup(plain.Close)
	host, client := strings.TrimPrefix(plain.URL, "http://"), newClient(nil)
	client.PullSecret = registrytest.PullSecret(host, testPassword)
	digest, _ := newImage(t).Digest()
	_, err := client.Open(t.Context(), host+"/os@"+digest.String())
	if err == nil || !strings.Contains(err.Error(), "does not use TLS") || requests.Load() != 0 {
		t.Errorf("Open() = %v after %d requests", err, requests.Load())
	}
}

func TestOpenUsesProxy(t *testing.T) {
	server := registrytest.New(t, "")
	pullSpec := server.Push(t, "os", newImage(t))
	client := newClient(trust(server))
	client.Proxy = func(*url.URL) (*url.URL, error) { return url.Parse("http://127.0.0.1:1") }
	if _, err := client.Open(t.Context(), pullSpec); err == nil || !strings.Contains(err.Error(), "127.0.0.1:1") {
		t.Errorf("Open() = %v without its proxy", err)
	}
}

func TestOpenEndsWithContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	server := registrytest.New(t, "")
	pullSpec := server.Push(t, "os", newImage(t))
	//nolint:errorlint // exactly this error
	if _, err := newClient(trust(server)).Open(ctx, pullSpec); err != context.Canceled {
		t.Errorf("Open() = %v", err)
	}
}
