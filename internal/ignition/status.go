package ignition

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// explainStatus tells what a status means. The server's own are 200, 401, 404,
// 500 and 511; 502, 503 and 504 are of the HAProxy in front of it.
func explainStatus(stub *Stub, response *http.Response, skew time.Duration) *refusal {
	pool := poolOf(stub)
	status := response.StatusCode
	if stub.standalone() {
		return explainConfigStatus(stub, status, skew)
	}
	switch {
	case status == http.StatusUnauthorized && !stub.HasToken():
		return &refusal{
			code: report.CredentialRefused, remedy: getToken,
			what: "it wants a token (HTTP 401) and none was given",
		}
	case status == http.StatusUnauthorized:
		return &refusal{
			code:   report.CredentialRefused,
			what:   "it cannot read the token (HTTP 401), which must be the base64 of a UUID" + tellSkew(skew),
			remedy: "# use a fresh stub, unchanged, from the management cluster:\n" + pool.freshStub(),
		}
	case status == http.StatusNetworkAuthenticationRequired:
		return unknownToken(stub, pool, skew)
	case status == http.StatusNotFound:
		return &refusal{
			code:   report.Usage,
			what:   fmt.Sprintf("it has nothing at %s (HTTP 404)", stub.Source.Path),
			remedy: "# the payload of a NodePool is at https://HOST/ignition, without a slash at the end; the host is:\n" + getEndpoint,
		}
	case status == http.StatusInternalServerError && strings.Contains(firstLine(response.Body), "Invalid ignition payload"):
		return &refusal{
			code:   report.Failed,
			what:   "it has a payload for this token that is not valid (HTTP 500)",
			remedy: "# see why on the management cluster:\n" + pool.conditions(),
		}
	case status == http.StatusBadGateway, status == http.StatusServiceUnavailable, status == http.StatusGatewayTimeout:
		return &refusal{
			code: report.Failed, temporary: true,
			what:   fmt.Sprintf("the proxy in front of the ignition server does not reach it (HTTP %d)", status),
			remedy: "# see whether the server runs, on the management cluster:\n" + pool.servers(),
		}
	case status >= 500, status == http.StatusTooManyRequests, status == http.StatusRequestTimeout:
		return &refusal{
			code: report.Failed, temporary: true,
			what:   fmt.Sprintf("it answers HTTP %d %s", status, http.StatusText(status)),
			remedy: "# see whether the server runs, on the management cluster:\n" + pool.servers(),
		}
	}
	return &refusal{
		code:   report.Refused,
		what:   fmt.Sprintf("it answers HTTP %d %s, which the ignition server never does: something else stands in its place", status, http.StatusText(status)),
		remedy: "# check the endpoint, and what stands between this host and it:\n" + getEndpoint,
	}
}

// unknownToken is the answer 511. The server gives it for a token that has
// expired and for a payload that is not generated yet alike, so that it is
// worth waiting, and in the end both have to be told.
func unknownToken(stub *Stub, pool pool, skew time.Duration) *refusal {
	named := "the NodePool"
	if stub.NodePool() != "" {
		named = "NodePool " + stub.NodePool()
	}
	return &refusal{
		code: report.CredentialRefused, temporary: true,
		what: fmt.Sprintf("it does not know the token (HTTP 511): the token has expired or was rotated out, or the payload of %s is not generated yet%s", named, tellSkew(skew)),
		remedy: "# get a stub with the current token, on the management cluster:\n" + pool.freshStub() +
			"\n# and if that one is refused too, see whether ValidGeneratedPayload is True:\n" + pool.conditions(),
	}
}

// firstLine reads the beginning of a short body.
func firstLine(body io.Reader) string {
	text, _ := io.ReadAll(io.LimitReader(body, 200)) // an answer without its text is explained without it
	line, _, _ := strings.Cut(string(text), "\n")
	return line
}
