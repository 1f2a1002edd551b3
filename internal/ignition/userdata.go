// SPDX-License-Identifier: Apache-2.0

package ignition

import (
	"bytes"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/coreos/ignition/v2/config/v3_6/types"
	"github.com/vincent-petithory/dataurl"

	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition/fetch"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
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
		return report.Fail(report.Usage, UserDataRemedy()+"\n# on a standalone cluster:\n"+getWorkerUserData, "the ignition server is unknown: neither user data nor an endpoint was given")
	}
	if len(u.CAs) == 0 {
		if u.isStandalone() {
			return report.Fail(report.Usage, getWorkerUserData,
				"the CA of the machine-config server %s is unknown; the CA trust store of this host is never used for it", u.Source.Host)
		}
		return report.Fail(report.Usage,
			"# specify the user data, which contains the CA, or only the CA with --ca-file; on the management cluster:\n"+
				`oc -n HCP_NAMESPACE get secret ignition-server-ca-cert -o jsonpath='{.data.tls\.crt}' | base64 -d > ca.crt`,
			"the CA of the ignition server %s is unknown; the CA trust store of this host is never used for it", u.Source.Host)
	}
	return nil
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
	var settings types.Ignition
	settings.Proxy.HTTPProxy, settings.Proxy.HTTPSProxy = optionalString(u.Proxy.HTTP), optionalString(u.Proxy.HTTPS)
	for _, item := range u.Proxy.No {
		settings.Proxy.NoProxy = append(settings.Proxy.NoProxy, types.NoProxyItem(item))
	}
	for _, ca := range u.CAs {
		source := dataurl.New(ca, "text/plain").String()
		settings.Security.TLS.CertificateAuthorities = append(settings.Security.TLS.CertificateAuthorities, types.Resource{Source: &source})
	}
	return settings
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
	for _, proxy := range []string{u.Proxy.HTTPS, u.Proxy.HTTP} {
		if proxy != "" {
			parts = append(parts, "proxy "+redactURL(proxy))
			break
		}
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

func firstByte(content []byte) byte {
	if content = bytes.TrimSpace(content); len(content) > 0 {
		return content[0]
	}
	return 0
}
