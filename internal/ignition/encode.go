// SPDX-License-Identifier: Apache-2.0

package ignition

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"

	v3_2 "github.com/coreos/ignition/v2/config/v3_2/types"
	"github.com/vincent-petithory/dataurl"
)

// Encode returns the user data in HyperShift's format, which ParseUserData accepts. The result
// is a credential.
func (u *UserData) Encode() ([]byte, error) {
	var config v3_2.Config
	config.Ignition.Version = v3_2.MaxVersion.String()
	if u.Source != nil {
		source := u.Source.String()
		config.Ignition.Config.Merge = []v3_2.Resource{{Source: &source, HTTPHeaders: encodeHeaders(u)}}
	}
	for _, ca := range u.CAs {
		source := dataurl.New(ca, "text/plain").String()
		config.Ignition.Security.TLS.CertificateAuthorities = append(config.Ignition.Security.TLS.CertificateAuthorities, v3_2.Resource{Source: &source})
	}
	config.Ignition.Proxy.HTTPProxy, config.Ignition.Proxy.HTTPSProxy = optionalString(u.Proxy.HTTP), optionalString(u.Proxy.HTTPS)
	for _, item := range u.Proxy.No {
		config.Ignition.Proxy.NoProxy = append(config.Ignition.Proxy.NoProxy, v3_2.NoProxyItem(item))
	}
	content, err := json.Marshal(config)
	if err != nil {
		return nil, fmt.Errorf("encoding the user data: %w", err)
	}
	return content, nil
}

// encodeHeaders returns the headers in HyperShift's spelling, sorted by name.
func encodeHeaders(u *UserData) v3_2.HTTPHeaders {
	spelling := map[string]string{}
	for _, name := range []string{headerNodePool, headerConfigHash} {
		spelling[http.CanonicalHeaderKey(name)] = name
	}
	var headers v3_2.HTTPHeaders
	for _, name := range slices.Sorted(maps.Keys(u.Headers)) {
		for _, value := range u.Headers[name] {
			headers = append(headers, v3_2.HTTPHeader{Name: cmp.Or(spelling[name], name), Value: &value})
		}
	}
	return headers
}

func optionalString(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// Digest returns the SHA-256 of the encoded user data in hexadecimal. Equal credentials for the
// same server have equal digests. The digest is not a secret.
func (u *UserData) Digest() (string, error) {
	content, err := u.Encode()
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:]), nil
}
