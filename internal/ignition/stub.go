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

// The headers that HyperShift's stub carries. The two that name the NodePool
// prove nothing: the server uses them to record that a node has come.
const (
	headerAuthorization = "Authorization"
	headerNodePool      = "NodePool"
	headerConfigHash    = "TargetConfigVersionHash"
)

// Stub is what leads to a payload: where it is, what proves the right to have
// it, and whom to trust.
type Stub struct {
	Source  *url.URL
	Headers http.Header
	CAs     [][]byte // PEM; the only certificate authorities that are trusted
	Proxy   Proxy
}

// Proxy is the stub's proxy; the environment's is not used.
type Proxy = fetch.Proxy

// NodePool is the pool that the stub is of, NAMESPACE/NAME, or "".
func (s *Stub) NodePool() string { return s.Headers.Get(headerNodePool) }

// ConfigHash is the hash of the pool's configuration that the stub is of, or "".
func (s *Stub) ConfigHash() string { return s.Headers.Get(headerConfigHash) }

// Hosted tells the server of a hosted cluster, which has payloads at /ignition,
// from the machine-config server of a standalone one, at /config/POOL. A stub
// made of single values need not name its NodePool.
func (s *Stub) Hosted() bool {
	return s.NodePool() != "" || (s.Source != nil && strings.HasPrefix(s.Source.Path, "/ignition"))
}

// HasToken tells whether the stub carries a token.
func (s *Stub) HasToken() bool { return s.Headers.Get(headerAuthorization) != "" }

// Validate tells what is missing before the stub can lead to a payload. A stub
// without a token is complete: a standalone cluster asks for none.
func (s *Stub) Validate() error {
	if s.Source == nil {
		return report.Fail(report.Usage, getStub+"\n# on a standalone cluster:\n"+getWorkerStub, "nothing says where the ignition server is: there is neither a user-data stub nor an endpoint")
	}
	if len(s.CAs) == 0 {
		if s.standalone() {
			return report.Fail(report.Usage, getWorkerStub,
				"nothing says which CA the machine-config server %s is to be trusted by; this host's own trust is never used for it", s.Source.Host)
		}
		return report.Fail(report.Usage,
			"# give the stub, which carries the CA, or the CA alone, from the management cluster:\n"+
				`oc -n HCP_NAMESPACE get secret ignition-server-ca-cert -o jsonpath='{.data.tls\.crt}' | base64 -d > ca.crt`,
			"nothing says which CA the ignition server %s is to be trusted by; this host's own trust is never used for it", s.Source.Host)
	}
	return nil
}

// trust is the pool of the stub's CAs.
func (s *Stub) trust() *x509.CertPool {
	pool := x509.NewCertPool()
	for _, ca := range s.CAs {
		pool.AppendCertsFromPEM(ca)
	}
	return pool
}

// settings are what a stub says about the network, in Ignition's words: they
// count for what its payload refers to, too.
func (s *Stub) settings() types.Ignition {
	var settings types.Ignition
	settings.Proxy.HTTPProxy, settings.Proxy.HTTPSProxy = given(s.Proxy.HTTP), given(s.Proxy.HTTPS)
	for _, item := range s.Proxy.No {
		settings.Proxy.NoProxy = append(settings.Proxy.NoProxy, types.NoProxyItem(item))
	}
	for _, ca := range s.CAs {
		source := dataurl.New(ca, "text/plain").String()
		settings.Security.TLS.CertificateAuthorities = append(settings.Security.TLS.CertificateAuthorities, types.Resource{Source: &source})
	}
	return settings
}

func (s *Stub) clone() *Stub {
	c := *s
	if s.Source != nil {
		source := *s.Source
		c.Source = &source
	}
	c.Headers = s.Headers.Clone()
	if c.Headers == nil {
		c.Headers = http.Header{}
	}
	c.CAs = slices.Clone(s.CAs)
	c.Proxy.No = slices.Clone(s.Proxy.No)
	return &c
}

// String sums the stub up without its token.
func (s Stub) String() string {
	parts := []string{"stub without endpoint"}
	if s.Source != nil {
		parts[0] = "stub of " + s.Source.Redacted()
	}
	if pool := s.NodePool(); pool != "" {
		parts = append(parts, "NodePool "+pool)
	}
	if hash := s.ConfigHash(); hash != "" {
		parts = append(parts, "hash "+hash)
	}
	if s.HasToken() {
		parts = append(parts, "with token")
	}
	for _, proxy := range []string{s.Proxy.HTTPS, s.Proxy.HTTP} {
		if proxy != "" {
			parts = append(parts, "proxy "+redactURL(proxy))
			break
		}
	}
	return strings.Join(parts, ", ")
}

// Format keeps the token out of every verb, %#v among them.
func (s Stub) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, s.String()) }

// MarshalJSON keeps the token out of documents.
func (s Stub) MarshalJSON() ([]byte, error) { return json.Marshal(s.String()) }

// redactURL hides the password of a URL.
func redactURL(text string) string {
	parsed, err := url.Parse(text)
	if err != nil {
		return "(a URL that cannot be read)"
	}
	return parsed.Redacted()
}

func firstByte(content []byte) byte {
	if content = bytes.TrimSpace(content); len(content) > 0 {
		return content[0]
	}
	return 0
}
