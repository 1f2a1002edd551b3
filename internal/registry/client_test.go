// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"bytes"
	"context"
	"crypto/x509"
	"encoding/base64"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/random"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report/reporttest"
)

// testRegistry is a real registry on loopback.
type testRegistry struct {
	*httptest.Server
	host     string
	requests atomic.Int32
}

const testPassword = "a-secret-of-the-test"

// newRegistry starts a registry with TLS. With a password it requires it for user node.
func newRegistry(t *testing.T, password string) *testRegistry {
	t.Helper()
	r := &testRegistry{}
	images := registry.New(registry.Logger(log.New(&bytes.Buffer{}, "", 0)))
	r.Server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		r.requests.Add(1)
		if _, got, _ := request.BasicAuth(); got != password {
			w.Header().Set("WWW-Authenticate", `Basic realm="test"`)
			http.Error(w, `{"errors":[{"code":"UNAUTHORIZED","message":"authentication required"}]}`, http.StatusUnauthorized)
			return
		}
		images.ServeHTTP(w, request)
	}))
	r.Config.ErrorLog = log.New(&bytes.Buffer{}, "", 0)
	t.Cleanup(r.Close)
	r.host = strings.TrimPrefix(r.URL, "https://")
	return r
}

// push pushes an image and returns its pull spec.
func (r *testRegistry) push(t *testing.T, repository string, image v1.Image, options ...remote.Option) string {
	t.Helper()
	digest, err := image.Digest()
	if err != nil {
		t.Fatal(err)
	}
	pullSpec := r.host + "/" + repository + "@" + digest.String()
	reference, err := name.NewDigest(pullSpec)
	if err != nil {
		t.Fatal(err)
	}
	if err := remote.Write(reference, image, append(options, remote.WithTransport(r.Client().Transport))...); err != nil {
		t.Fatal(err)
	}
	return pullSpec
}

// trust returns the certificates of registries.
func trust(registries ...*testRegistry) *x509.CertPool {
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
	return &Client{Roots: roots, Arch: "amd64", DropInDir: "/nonexistent", Log: (&reporttest.Recorder{}).Log()}
}

func TestOpenVerifiesLayers(t *testing.T) {
	server, image := newRegistry(t, ""), newImage(t)
	opened, err := newClient(trust(server)).Open(t.Context(), server.push(t, "os", image))
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
	origin, mirror := newRegistry(t, ""), newRegistry(t, testPassword)
	dead := newRegistry(t, "")
	dead.Close()
	image := newImage(t)
	pushed := mirror.push(t, "copies/os", image, remote.WithAuth(&authn.Basic{Username: "node", Password: testPassword}))
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
`, origin.host, dead.host, mirror.host)
	client.PullSecret = pullSecret(mirror.host+"/copies", testPassword)
	opened, err := client.Open(t.Context(), origin.host+"/release/os@"+digest.String())
	if err != nil {
		t.Fatal(err)
	}
	if opened.Source != pushed || origin.requests.Load() != 0 {
		t.Errorf("read from %s with %d requests to the registry, want %s and none", opened.Source, origin.requests.Load(), pushed)
	}
}

func pullSecret(registry, password string) []byte {
	login := base64.StdEncoding.EncodeToString([]byte("node:" + password))
	return fmt.Appendf(nil, `{"auths":{%q:{"auth":%q}}}`, registry, login)
}

func TestOpenExplainsFailures(t *testing.T) {
	server, locked := newRegistry(t, ""), newRegistry(t, testPassword)
	image := newImage(t)
	digest, _ := image.Digest()
	absent := "/os@" + digest.String()
	for name, test := range map[string]struct {
		pullSpec, registries string
		secret               []byte
		code                 report.Code
		want                 string
	}{
		"no digest":       {pullSpec: "registry.example.com/os:latest", code: report.Failed, want: "has no digest"},
		"absent":          {pullSpec: server.host + absent, code: report.Failed, want: server.host + "/os: the registry does not have the image"},
		"no credentials":  {pullSpec: locked.host + absent, code: report.CredentialRefused, want: "contains no credentials for this registry"},
		"bad credentials": {pullSpec: locked.host + absent, secret: pullSecret(locked.host, "wrong"), code: report.CredentialRefused, want: "the registry rejects the pull secret"},
		"blocked": {
			pullSpec: server.host + absent, registries: "[[registry]]\nlocation = \"" + server.host + "\"\nblocked = true\n",
			code: report.Refused, want: "registries.conf blocks registry " + server.host,
		},
		"bad registries":  {pullSpec: server.host + absent, registries: "[[", code: report.Failed, want: "reading registries.conf: "},
		"bad pull secret": {pullSpec: server.host + absent, secret: []byte("{"), code: report.Failed, want: "reading the pull secret: "},
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
	server := newRegistry(t, "")
	pullSpec := server.push(t, "os", newImage(t))
	client := newClient(x509.NewCertPool())
	if _, err := client.Open(t.Context(), pullSpec); err == nil || !strings.Contains(err.Error(), "is not a trusted CA") {
		t.Errorf("Open() = %v for an unknown CA", err)
	}
	client.RegistriesConf = []byte("[[registry]]\nlocation = \"" + server.host + "\"\ninsecure = true\n")
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
	client.PullSecret = pullSecret(host, testPassword)
	digest, _ := newImage(t).Digest()
	_, err := client.Open(t.Context(), host+"/os@"+digest.String())
	if err == nil || !strings.Contains(err.Error(), "does not use TLS") || requests.Load() != 0 {
		t.Errorf("Open() = %v after %d requests", err, requests.Load())
	}
}

func TestOpenUsesProxy(t *testing.T) {
	server := newRegistry(t, "")
	pullSpec := server.push(t, "os", newImage(t))
	client := newClient(trust(server))
	client.Proxy = func(*url.URL) (*url.URL, error) { return url.Parse("http://127.0.0.1:1") }
	if _, err := client.Open(t.Context(), pullSpec); err == nil || !strings.Contains(err.Error(), "127.0.0.1:1") {
		t.Errorf("Open() = %v without its proxy", err)
	}
}

func TestOpenEndsWithContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	server := newRegistry(t, "")
	pullSpec := server.push(t, "os", newImage(t))
	if _, err := newClient(trust(server)).Open(ctx, pullSpec); err != context.Canceled { //nolint:errorlint // exactly this error
		t.Errorf("Open() = %v", err)
	}
}
