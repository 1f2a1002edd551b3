// SPDX-License-Identifier: Apache-2.0

package ignition

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/hcp-node-agent/hcp-node-agent/internal/config"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition/fetch"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// Values are the parts of user data as single values. An empty field is not set.
type Values struct {
	Endpoint string // HOST, HOST:PORT or an https URL
	Token    []byte // the UUID, its base64, or a whole "Bearer ..." header
	CA       []byte // PEM
	NodePool string // NAMESPACE/NAME
	Hash     string
}

// String returns a summary without the token.
func (v Values) String() string {
	return fmt.Sprintf("endpoint %q, NodePool %q, hash %q, token given: %t, CA given: %t",
		redactURL(v.Endpoint), v.NodePool, v.Hash, len(v.Token) > 0, len(v.CA) > 0)
}

// Format writes the summary for every verb, so that the token is never printed.
func (v Values) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, v.String()) }

// MarshalText returns the summary, so that the token never reaches a document.
func (v Values) MarshalText() ([]byte, error) { return []byte(v.String()), nil }

// NewUserData returns user data made of single values.
func NewUserData(v Values) (*UserData, error) { return (&UserData{Headers: http.Header{}}).Override(v) }

// Override returns a copy of s in which the set fields of v replace those of s. It returns an
// error if the result is incomplete.
func (u *UserData) Override(v Values) (*UserData, error) {
	userData := u.clone()
	if v.Endpoint != "" {
		source, err := parseEndpoint(v.Endpoint)
		if err != nil {
			return nil, report.Fail(report.Usage, "# specify the endpoint as HOST, HOST:PORT or https://HOST:PORT/ignition\n"+getEndpoint+"\n"+getInternalEndpoint, "reading the endpoint %q: %w", redactURL(v.Endpoint), err)
		}
		userData.Source = source
	}
	if len(v.Token) > 0 {
		value, err := bearerHeader(v.Token)
		if err != nil {
			return nil, report.Fail(report.Usage, getToken, "reading the ignition token: %w", err)
		}
		userData.Headers.Set(headerAuthorization, value)
	}
	if len(v.CA) > 0 {
		if err := fetch.CheckCA(v.CA); err != nil {
			return nil, report.Fail(report.Usage, userData.caRemedy(), "reading the CA of the %s: %w", userData.serverKind(), err)
		}
		userData.CAs = [][]byte{v.CA}
	}
	if v.NodePool != "" {
		if namespace, name, found := strings.Cut(v.NodePool, "/"); !found || namespace == "" || name == "" || strings.Contains(name, "/") {
			return nil, report.Fail(report.Usage, "# specify the NodePool as NAMESPACE/NAME, for example clusters/demo-workers", "reading the NodePool %q: not in the format NAMESPACE/NAME", v.NodePool)
		}
		userData.Headers.Set(headerNodePool, v.NodePool)
	}
	if v.Hash != "" {
		userData.Headers.Set(headerConfigHash, v.Hash)
	}
	return userData, userData.Validate()
}

// parseEndpoint parses HOST, HOST:PORT or a URL. HyperShift's server has its payload at /ignition.
// Another path, such as /config/worker of a standalone cluster's machine-config server, is kept.
// That server is also recognized by its port.
func parseEndpoint(text string) (*url.URL, error) {
	source, err := config.ParseEndpoint(text)
	if err != nil {
		return nil, err
	}
	if source.Path == "" || source.Path == "/" {
		source.Path = "/ignition"
		if source.Port() == machineConfigPort {
			source.Path = machineConfigPath + "worker"
		}
	}
	return source, nil
}
