// SPDX-License-Identifier: Apache-2.0

package ignition

import (
	"cmp"
	"crypto/sha256"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/coreos/ignition/v2/config/v3_6/types"
	"github.com/vincent-petithory/dataurl"

	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition/fetch"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/wrap"
)

// The headers in HyperShift's user data. NodePool and TargetConfigVersionHash are no
// credentials: the server uses them to record the arrival of a node.
const (
	headerAuthorization = "Authorization"
	headerNodePool      = "NodePool"
	headerConfigHash    = "TargetConfigVersionHash"
)

// UserData is the user data: the URL of a payload, the credential in the request headers, and the
// CAs to trust.
type UserData struct {
	Source  *url.URL
	Headers http.Header
	CAs     [][]byte // PEM; only these certificate authorities are trusted
	Proxy   Proxy
}

// Proxy is the proxy of the user data. The proxy of the environment is not used.
type Proxy = fetch.Proxy

// NodePool returns the NodePool of the user data as NAMESPACE/NAME, or "".
func (u *UserData) NodePool() string { return u.Headers.Get(headerNodePool) }

// ConfigHash returns the hash of the NodePool's configuration, or "".
func (u *UserData) ConfigHash() string { return u.Headers.Get(headerConfigHash) }

// IsHosted reports whether the server belongs to a hosted cluster, which serves payloads at
// /ignition. The machine-config server of a standalone cluster serves them at /config/POOL. User
// data that was made of single values may lack its NodePool.
func (u *UserData) IsHosted() bool {
	return u.NodePool() != "" || (u.Source != nil && strings.HasPrefix(u.Source.Path, "/ignition"))
}

// HasToken reports whether the user data contains a token.
func (u *UserData) HasToken() bool { return u.Headers.Get(headerAuthorization) != "" }

// Validate returns an error if the user data is incomplete. User data without a token is
// complete, because a standalone cluster requires none.
func (u *UserData) Validate() error {
	if u.Source == nil {
		return report.Fail(report.Usage, UserDataRemedy()+"\n# on a standalone cluster:\n"+getWorkerUserData,
			"the ignition server is unknown: neither user data nor an endpoint was given")
	}
	if len(u.CAs) > 0 {
		return nil
	}
	server, remedy := "the CA of the ignition server", report.Remedy("# specify the user data, which contains the CA, "+
		"or only the CA with --ca-file; on the management cluster:\n"+getCA)
	if u.isStandalone() {
		server, remedy = "the CA of the machine-config server", getWorkerUserData
	}
	return report.Fail(report.Usage, remedy,
		"%s %s is unknown; the CA trust store of this host is never used for it", server, u.Source.Host)
}

// rootCAs returns the pool of the CAs.
func (u *UserData) rootCAs() *x509.CertPool {
	pool := x509.NewCertPool()
	for _, ca := range u.CAs {
		pool.AppendCertsFromPEM(ca)
	}
	return pool
}

// ignitionSettings returns the proxy and CAs as Ignition settings, which also apply to the resources
// that the payload refers to.
func (u *UserData) ignitionSettings() types.Ignition {
	optional := func(s string) *string {
		if s == "" {
			return nil
		}
		return &s
	}
	var settings types.Ignition
	settings.Proxy.HTTPProxy, settings.Proxy.HTTPSProxy = optional(u.Proxy.HTTP), optional(u.Proxy.HTTPS)
	for _, item := range u.Proxy.No {
		settings.Proxy.NoProxy = append(settings.Proxy.NoProxy, types.NoProxyItem(item))
	}
	trusted := &settings.Security.TLS.CertificateAuthorities
	for _, ca := range u.CAs {
		source := dataurl.New(ca, "text/plain").String()
		*trusted = append(*trusted, types.Resource{Source: &source})
	}
	return settings
}

// Encode returns the user data in HyperShift's format, which ParseUserData accepts. The result
// is a credential.
func (u *UserData) Encode() ([]byte, error) {
	var config struct { // HyperShift's spec 3.2 has no further sections
		Ignition types.Ignition `json:"ignition"`
		Passwd   types.Passwd   `json:"passwd"`
		Storage  types.Storage  `json:"storage"`
		Systemd  types.Systemd  `json:"systemd"`
	}
	config.Ignition = u.ignitionSettings()
	config.Ignition.Version = "3.2.0"
	if u.Source != nil {
		source := u.Source.String()
		config.Ignition.Config.Merge = []types.Resource{{Source: &source, HTTPHeaders: u.encodeHeaders()}}
	}
	content, err := json.Marshal(config)
	return content, wrap.Errorf(err, "encoding the user data")
}

// encodeHeaders returns the headers in HyperShift's spelling, sorted by name.
func (u *UserData) encodeHeaders() types.HTTPHeaders {
	spelling := map[string]string{}
	for _, name := range []string{headerNodePool, headerConfigHash} {
		spelling[http.CanonicalHeaderKey(name)] = name
	}
	var headers types.HTTPHeaders
	for _, name := range slices.Sorted(maps.Keys(u.Headers)) {
		for _, value := range u.Headers[name] {
			headers = append(headers, types.HTTPHeader{Name: cmp.Or(spelling[name], name), Value: &value})
		}
	}
	return headers
}

// Digest returns the SHA-256 of the encoded user data in hexadecimal. Equal credentials for the
// same server have equal digests. The digest is not a secret.
func (u *UserData) Digest() (string, error) {
	content, err := u.Encode()
	return fmt.Sprintf("%x", sha256.Sum256(content)), err
}

func (u *UserData) clone() *UserData {
	c := *u
	if u.Source != nil {
		source := *u.Source
		c.Source = &source
	}
	c.Headers = u.Headers.Clone()
	if c.Headers == nil {
		c.Headers = http.Header{}
	}
	c.CAs = slices.Clone(u.CAs)
	c.Proxy.No = slices.Clone(u.Proxy.No)
	return &c
}

// String returns a summary without the token.
func (u UserData) String() string {
	parts := []string{"user data without endpoint"}
	if u.Source != nil {
		parts[0] = "user data of " + u.Source.Redacted()
	}
	if pool := u.NodePool(); pool != "" {
		parts = append(parts, "NodePool "+pool)
	}
	if hash := u.ConfigHash(); hash != "" {
		parts = append(parts, "hash "+hash)
	}
	if u.HasToken() {
		parts = append(parts, "with token")
	}
	if proxy := cmp.Or(u.Proxy.HTTPS, u.Proxy.HTTP); proxy != "" {
		parts = append(parts, "proxy "+redactURL(proxy))
	}
	return strings.Join(parts, ", ")
}

// Format writes the summary for every verb, including %#v, so that the token is never printed.
func (u UserData) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, u.String()) }

// MarshalJSON returns the summary, so that the token never reaches a JSON document.
func (u UserData) MarshalJSON() ([]byte, error) { return json.Marshal(u.String()) }

// redactURL returns a URL with its password hidden.
func redactURL(text string) string {
	parsed, err := url.Parse(text)
	if err != nil {
		return "(invalid URL)"
	}
	return parsed.Redacted()
}
