// SPDX-License-Identifier: Apache-2.0

package ostree

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"go.podman.io/image/v5/docker/reference"
	"go.podman.io/image/v5/pkg/sysregistriesv2"
	"go.podman.io/image/v5/types"
)

// getImage gets the manifest of an image from the first place that has it: the mirrors of registries.conf,
// which is read by the code that skopeo uses, then the registry. A registry on localhost has no TLS.
func getImage(ctx context.Context, image string) (v1.Image, error) {
	named, err := reference.ParseNormalizedNamed(image)
	if err != nil {
		return nil, err
	}
	named = reference.TagNameOnly(named)
	registry, err := sysregistriesv2.FindRegistry(&types.SystemContext{}, named.Name())
	if err != nil {
		return nil, err
	}
	sources := []sysregistriesv2.PullSource{{Reference: named}}
	if registry != nil && registry.Blocked {
		return nil, fmt.Errorf("registry %s is blocked in registries.conf", registry.Prefix)
	}
	if registry != nil {
		if sources, err = registry.PullSourcesFromReference(named); err != nil {
			return nil, err
		}
	}
	var failures error
	for _, source := range sources {
		got, err := getFrom(ctx, source)
		if err == nil {
			return got, nil
		}
		failures = errors.Join(failures, err)
	}
	return nil, failures
}

func getFrom(ctx context.Context, source sysregistriesv2.PullSource) (v1.Image, error) {
	var options []name.Option
	if source.Endpoint.Insecure {
		options = append(options, name.Insecure)
	}
	ref, err := name.ParseReference(source.Reference.String(), options...)
	if err != nil {
		return nil, err
	}
	transport, err := newTransport(ref.Context().RegistryStr(), source.Endpoint.Insecure)
	if err != nil {
		return nil, err
	}
	auth, err := login(ref.Context().Name())
	if err != nil {
		return nil, err
	}
	return remote.Image(ref, remote.WithContext(ctx), remote.WithTransport(transport), remote.WithAuth(auth))
}

// newTransport returns a transport with the host's CAs and those of containers-certs.d(5). The proxy
// comes from the environment.
func newTransport(registry string, insecure bool) (http.RoundTripper, error) {
	pool, err := x509.SystemCertPool()
	if err != nil {
		return nil, err
	}
	files, err := filepath.Glob("/etc/containers/certs.d/" + registry + "/*.crt")
	if err != nil {
		return nil, err
	}
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		pool.AppendCertsFromPEM(content)
	}
	base, _ := http.DefaultTransport.(*http.Transport) // net/http documents the type
	transport := base.Clone()
	transport.TLSClientConfig = &tls.Config{
		RootCAs:            pool,
		MinVersion:         tls.VersionTLS12,
		InsecureSkipVerify: insecure, //nolint:gosec // registries.conf declares it insecure
	}
	return transport, nil
}

// authFiles are read in this order; the first that exists is used
// (crates/ostree-ext/src/globals.rs, get_global_authfile).
var authFiles = []string{"/run/ostree/auth.json", "/etc/ostree/auth.json", "/usr/lib/ostree/auth.json"}

// login returns the credentials for a repository, HOST/PATH. Without credentials, it returns anonymous.
func login(repository string) (authn.Authenticator, error) {
	for _, file := range authFiles {
		content, err := os.ReadFile(file)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		return parseAuth(content, repository)
	}
	return authn.Anonymous, nil
}

// parseAuth returns the credentials of the most specific entry (containers-auth.json(5)).
func parseAuth(content []byte, repository string) (authn.Authenticator, error) {
	var file struct {
		Auths map[string]authn.AuthConfig `json:"auths"`
	}
	if err := json.Unmarshal(content, &file); err != nil {
		return nil, fmt.Errorf("parsing auth.json: %w", err)
	}
	for key := repository; key != ""; {
		if auth, ok := file.Auths[key]; ok {
			return authn.FromConfig(auth), nil
		}
		at := strings.LastIndex(key, "/")
		if at < 0 {
			break
		}
		key = key[:at]
	}
	return authn.Anonymous, nil
}
