// SPDX-License-Identifier: Apache-2.0

// Package registry provides a real image registry in memory with the images of the test
// environment's cluster. It requires the pull secret, as a release's registry does.
package registry

import (
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

// Registry is an in-memory registry server.
type Registry struct {
	host     string // host:port as nodes see it
	username string
	original string                 // the password at the start
	password atomic.Pointer[string] // the current one
	http     *http.Server
}

// New creates an empty registry with the address host for nodes. Serve must run before the first
// Push.
func New(host string, logger *log.Logger) *Registry {
	r := &Registry{host: host, username: "bed", original: rand.Text()}
	r.ResetPassword()
	r.http = &http.Server{
		Handler:  r.authenticate(registry.New(registry.Logger(logger))),
		ErrorLog: logger,

		ReadHeaderTimeout: 10 * time.Second,
	}
	return r
}

// Serve serves a listener until Close.
func (r *Registry) Serve(listener net.Listener) error {
	err := r.http.Serve(listener)
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return fmt.Errorf("serving images: %w", err)
}

// Close closes every connection.
func (r *Registry) Close() error { return r.http.Close() }

// RotatePassword replaces the password, so that the previous pull secrets are refused.
func (r *Registry) RotatePassword() {
	password := rand.Text()
	r.password.Store(&password)
}

// ResetPassword restores the password at the start.
func (r *Registry) ResetPassword() { r.password.Store(&r.original) }

// PullSecret returns a .dockerconfigjson that the registry accepts.
func (r *Registry) PullSecret() (string, error) {
	type auth struct {
		Auth  string `json:"auth"`
		Email string `json:"email"`
	}
	secret, err := json.Marshal(map[string]map[string]auth{"auths": {r.host: {
		Auth:  base64.StdEncoding.EncodeToString([]byte(r.username + ":" + *r.password.Load())),
		Email: "nobody@example.com",
	}}})
	if err != nil {
		return "", fmt.Errorf("encoding the pull secret: %w", err)
	}
	return string(secret), nil
}

// Builder builds an image.
type Builder interface{ build() (v1.Image, error) }

// Push builds an image and pushes it by its digest through address, which this host can reach. It
// returns the pull spec for nodes.
func (r *Registry) Push(address, repository string, image Builder) (string, error) {
	built, err := image.build()
	if err != nil {
		return "", err
	}
	digest, err := built.Digest()
	if err != nil {
		return "", fmt.Errorf("computing the digest of %s: %w", repository, err)
	}
	ref, err := name.NewDigest(address+"/"+repository+"@"+digest.String(), name.Insecure)
	if err != nil {
		return "", fmt.Errorf("naming image %s: %w", repository, err)
	}
	login := &authn.Basic{Username: r.username, Password: *r.password.Load()}
	if err := remote.Write(ref, built, remote.WithAuth(login)); err != nil {
		return "", fmt.Errorf("pushing %s: %w", repository, err)
	}
	return r.host + "/" + repository + "@" + digest.String(), nil
}

func (r *Registry) authenticate(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		username, password, ok := request.BasicAuth()
		if !ok || username != r.username || password != *r.password.Load() {
			w.Header().Set("WWW-Authenticate", `Basic realm="test registry"`)
			http.Error(w, `{"errors":[{"code":"UNAUTHORIZED","message":"authentication required"}]}`, http.StatusUnauthorized)
			return
		}
		next.ServeHTTP(w, request)
	})
}
