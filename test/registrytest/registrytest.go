// SPDX-License-Identifier: Apache-2.0

// Package registrytest provides a real image registry with TLS on loopback, for tests.
package registrytest

import (
	"encoding/base64"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

const username = "node"

// Registry is a registry in memory.
type Registry struct {
	*httptest.Server
	Host     string // HOST:PORT
	Requests atomic.Int32

	password string
}

// New starts a registry. It requires the password, unless that is "".
func New(t *testing.T, password string) *Registry {
	t.Helper()
	r := &Registry{password: password}
	quiet := log.New(io.Discard, "", 0)
	images := registry.New(registry.Logger(quiet))
	r.Server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		r.Requests.Add(1)
		if _, got, _ := request.BasicAuth(); got != password {
			w.Header().Set("WWW-Authenticate", `Basic realm="test"`)
			http.Error(w, `{"errors":[{"code":"UNAUTHORIZED","message":"authentication required"}]}`, http.StatusUnauthorized)
			return
		}
		images.ServeHTTP(w, request)
	}))
	r.Config.ErrorLog = quiet
	t.Cleanup(r.Close)
	r.Host = strings.TrimPrefix(r.URL, "https://")
	return r
}

// Push pushes an image and returns its pull spec.
func (r *Registry) Push(t *testing.T, repository string, image v1.Image) string {
	t.Helper()
	digest, err := image.Digest()
	if err != nil {
		t.Fatal(err)
	}
	reference, err := name.NewDigest(r.Host + "/" + repository + "@" + digest.String())
	if err != nil {
		t.Fatal(err)
	}
	options := []remote.Option{remote.WithTransport(r.Client().Transport)}
	if r.password != "" {
		options = append(options, remote.WithAuth(&authn.Basic{Username: username, Password: r.password}))
	}
	if err := remote.Write(reference, image, options...); err != nil {
		t.Fatal(err)
	}
	return reference.String()
}

// PullSecret returns a .dockerconfigjson with a password for a registry or repository on host.
func PullSecret(host, password string) []byte {
	login := base64.StdEncoding.EncodeToString([]byte(username + ":" + password))
	return fmt.Appendf(nil, `{"auths":{%q:{"auth":%q}}}`, host, login)
}
