// SPDX-License-Identifier: Apache-2.0

package enrollment

import (
	"errors"
	"fmt"
	"io"
	"net/url"
	"strings"
	"unicode"
)

// Cluster is the part of a join token with which its host gets the user data of its NodePool from the hosted cluster:
// any number of days after the enrollment, whereas user data expires within hours.
type Cluster struct {
	Server      string `json:"server"` // https URL of the API server
	CA          string `json:"ca"`     // PEM bundle of the API server
	BearerToken string `json:"token"`  // of the enrollment's ServiceAccount; a secret
	Secret      string `json:"secret"` // name of the Secret, in the namespace of the controller
}

// String describes the cluster without the secret.
func (c Cluster) String() string { return "Secret " + c.Secret + " of " + c.Server }

// Format prints String for every verb of fmt, to keep the secret out.
func (c Cluster) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, c.String()) }

// maxCredentialBytes limits the token of a ServiceAccount, which has about a thousand bytes.
const maxCredentialBytes = 16 << 10

// cluster checks the part cluster of a join token and returns it, nil if there is none. The errors do not contain the
// credential.
func (d document) cluster() (*Cluster, error) {
	c := d.Cluster
	switch {
	case c == nil:
		return nil, nil //nolint:nilnil // it is optional
	case d.UserData != "":
		return nil, errors.New("userData and cluster exclude each other")
	case c.BearerToken == "", len(c.BearerToken) > maxCredentialBytes, strings.ContainsFunc(c.BearerToken, isNoTokenRune):
		return nil, errors.New("cluster: token is not a bearer token")
	}
	server, err := url.Parse(c.Server)
	switch {
	case err != nil, server.Scheme != "https", server.Hostname() == "", server.User != nil, server.RawQuery != "":
		return nil, errors.New("cluster: server is not an https URL such as https://api.example.com:6443")
	case len(c.Secret) > maxSecretName || !isSubdomain(c.Secret):
		return nil, fmt.Errorf("cluster: secret %q is not the name of a Secret", shorten(c.Secret))
	}
	hashes, err := CAHashes([]byte(c.CA))
	if err != nil {
		return nil, fmt.Errorf("cluster: ca: %w", err)
	}
	if len(intersection(d.ClusterCA, hashes)) == 0 {
		return nil, errors.New("cluster: ca contains no certificate of clusterCA")
	}
	return c, nil
}

// isNoTokenRune reports whether a rune cannot be part of a bearer token in an HTTP header.
func isNoTokenRune(r rune) bool {
	return r > unicode.MaxASCII || unicode.IsSpace(r) || !unicode.IsPrint(r)
}
