// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// connectError is the response of a proxy that rejects a CONNECT request.
type connectError struct{ status int }

func (e connectError) Error() string {
	return fmt.Sprintf("HTTP %d %s", e.status, http.StatusText(e.status))
}

// CheckConnect returns an error with the status of a proxy that rejects a CONNECT request. It is a
// hook for http.Transport.OnProxyConnectResponse. Without the hook, net/http returns only the text
// of the status.
func CheckConnect(_ context.Context, _ *url.URL, _ *http.Request, response *http.Response) error {
	if response.StatusCode == http.StatusOK {
		return nil
	}
	return connectError{response.StatusCode}
}

// connectStatus returns the status with which a proxy rejected a CONNECT request, or 0 for other
// errors. For transports without CheckConnect, such as those of client-go, the text of the status
// is compared.
func connectStatus(err error) int {
	var rejected connectError
	if errors.As(err, &rejected) {
		return rejected.status
	}
	text := innermost(err).Error()
	for status := http.StatusBadRequest; status <= http.StatusNetworkAuthenticationRequired; status++ {
		if text != "" && text == http.StatusText(status) {
			return status
		}
	}
	return 0
}

// classifyProxy sets the reason if the proxy failed. It reports false for other errors. The message
// contains no part of the proxy's URL that may be secret.
func (e *Error) classifyProxy(server, proxy *url.URL, err error) bool {
	if proxy == nil {
		return false
	}
	address := proxy.Scheme + "://" + proxy.Host
	var operation *net.OpError
	status := connectStatus(err)
	switch {
	case errors.As(err, &operation) && operation.Op == "proxyconnect":
		e.Kind, e.Message = ProxyUnreachable, fmt.Sprintf("the proxy %s is unreachable: %s", address, innermost(err))
	case status != 0:
		e.Kind, e.Status, e.Code, e.Temporary = ProxyRefused, status, report.Refused, status >= 500
		e.Message = fmt.Sprintf("the proxy %s refused to connect to %s: %s", address, e.Address, connectError{status})
		if status == http.StatusProxyAuthRequired {
			e.Kind = ProxyAuthentication
		}
	default:
		return false
	}
	e.Remedy = report.Remedyf("curl -kvm 20 --proxy %s %s", address, RedactURL(server))
	return true
}
