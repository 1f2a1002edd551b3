// SPDX-License-Identifier: Apache-2.0

package ostree

import (
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
)

// newTransport returns a transport with the host's CAs and those of containers-certs.d(5). The proxy
// comes from the environment.
func newTransport(registry string) (http.RoundTripper, error) {
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
	transport.TLSClientConfig = &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
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
