// SPDX-License-Identifier: Apache-2.0

package ignition

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path"
	"regexp"
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
			return nil, report.Fail(report.Usage, "# specify the endpoint as HOST, HOST:PORT or https://HOST:PORT/ignition\n"+
				getEndpoint+"\n"+getInternalEndpoint, "reading the endpoint %q: %w", redactURL(v.Endpoint), err)
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
			return nil, report.Fail(report.Usage, userData.caRemedy(),
				"reading the CA of the %s: %w", userData.serverKind(), err)
		}
		userData.CAs = [][]byte{v.CA}
	}
	if v.NodePool != "" {
		namespace, name, _ := strings.Cut(v.NodePool, "/")
		if namespace == "" || name == "" || strings.Contains(name, "/") {
			return nil, report.Fail(report.Usage,
				"# specify the NodePool as NAMESPACE/NAME, for example clusters/demo-workers",
				"reading the NodePool %q: not in the format NAMESPACE/NAME", v.NodePool)
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
	// The server would redirect to the clean path, and the token is not sent again after a redirect.
	slash := strings.HasSuffix(source.Path, "/")
	if source.Path = path.Clean("/" + source.Path); slash && source.Path != "/" {
		source.Path += "/"
	}
	if source.Path == "/" {
		source.Path = "/ignition"
		if source.Port() == machineConfigPort {
			source.Path = machineConfigPath + "worker"
		}
	}
	return source, nil
}

// bearerHeader returns the value of the Authorization header for a token. The ignition server requires
// exactly one layer of base64 around the token, which is a UUID in text form. The value of
// .data.token in a token Secret has this layer; `oc extract` and `base64 -d` remove it.
// Therefore bearer accepts both forms, and a complete header value. No error contains the token.
func bearerHeader(token []byte) (string, error) {
	text := string(bytes.TrimSpace(token))
	if scheme, rest, found := strings.Cut(text, " "); found {
		if !strings.EqualFold(scheme, "Bearer") {
			return "", errors.New("the token contains a space and does not start with Bearer")
		}
		text = strings.TrimSpace(rest)
	}
	if uuid.MatchString(text) {
		return "Bearer " + base64.StdEncoding.EncodeToString([]byte(text)), nil
	}
	decoded, err := base64.StdEncoding.DecodeString(text)
	if err != nil || len(decoded) == 0 {
		return "", fmt.Errorf("the token (%d characters) is neither a UUID nor a base64-encoded UUID", len(text))
	}
	if inner := string(bytes.TrimSpace(decoded)); inner != string(decoded) && uuid.MatchString(inner) {
		// `echo TOKEN | base64` encodes a line break, too.
		return "Bearer " + base64.StdEncoding.EncodeToString([]byte(inner)), nil
	}
	return "Bearer " + text, nil
}

// uuid matches a UUID in text form.
var uuid = regexp.MustCompile(`^[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$`)
