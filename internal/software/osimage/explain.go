// SPDX-License-Identifier: Apache-2.0

package osimage

import (
	"errors"
	"net/http"
	"net/url"

	"github.com/google/go-containerregistry/pkg/v1/remote/transport"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	failures "github.com/hcp-node-agent/hcp-node-agent/internal/transport"
)

// explain returns the failure of a request to a source: the cause, and a command that shows it.
func (c *Client) explain(s source, err error) error {
	server := &url.URL{Scheme: "https", Host: s.host()}
	check := report.Remedyf("curl -sSIm 20 https://%s/v2/", s.host())
	var limit limitError
	if errors.As(err, &limit) {
		return report.Fail(report.Failed, check, "%s: %w", s.Reference.Name(), limit)
	}
	var response *transport.Error
	if !errors.As(err, &response) {
		var proxy *url.URL
		if c.Proxy != nil {
			proxy, _ = c.Proxy(server) // of no use if it is invalid
		}
		return failures.Classify(server, proxy, err).Failure(s.Reference.Name())
	}
	name := s.Reference.Name()
	switch response.StatusCode {
	case http.StatusUnauthorized, http.StatusForbidden:
		hasLogin := s.login.Username != "" || s.login.IdentityToken != ""
		switch {
		case hasLogin:
			return report.Fail(report.CredentialRefused, check,
				"%s: the registry rejects the pull secret of the payload", name)
		case s.helper != "":
			return report.Fail(report.CredentialRefused,
				report.Remedyf("# add credentials for %s to auths of the cluster's pull secret", s.host()),
				"%s: only the credential helper %s may have credentials for this registry, "+
					"and the agent starts no credential helpers", name, s.helper)
		}
		return report.Fail(report.CredentialRefused, check,
			"%s: the pull secret of the payload contains no credentials for this registry", name)
	case http.StatusNotFound:
		return report.Fail(report.Failed, check, "%s: the registry does not have the image", name)
	}
	return report.Fail(report.Failed, check, "%s: %w", name, response)
}
