package kube

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// explainProxy explains errors that occur before the server is reached. It
// names only the proxy's host and port, because its URL can contain a password.
func explainProxy(err error, proxy *url.URL, server string) (Problem, bool) {
	if proxy == nil {
		return Problem{}, false
	}
	t := Problem{Code: report.Failed, Remedy: report.Remedy("curl -v --proxy " + proxy.Scheme + "://" + proxy.Host + " " + server +
		"/version # and look at HTTPS_PROXY and NO_PROXY in this command's environment")}
	var connecting *net.OpError
	if errors.As(err, &connecting) && connecting.Op == "proxyconnect" {
		t.Text = "the proxy " + proxy.Host + " on the way to " + server + " cannot be reached: " +
			connecting.Err.Error()
		return t, true
	}
	switch code := connectStatus(err); code {
	case 0:
		return Problem{}, false
	case http.StatusProxyAuthRequired:
		t.Text = "the proxy " + proxy.Host + " wants a user and a password (407)"
		t.Remedy = report.Remedy("# put them into HTTPS_PROXY=" + proxy.Scheme + "://USER:PASSWORD@" + proxy.Host + ", or take " +
			serverHost(server) + " into NO_PROXY")
	case http.StatusForbidden, http.StatusMethodNotAllowed:
		t.Text = fmt.Sprintf("the proxy %s does not let this machine through to %s (%d)", proxy.Host,
			serverHostPort(server), code)
		t.Remedy = report.Remedy("# allow CONNECT to " + serverHostPort(server) + " in the proxy, or take " + serverHost(server) +
			" into NO_PROXY")
	default:
		t.Text = fmt.Sprintf("the proxy %s could not reach %s (%d %s)", proxy.Host, serverHostPort(server), code,
			http.StatusText(code))
	}
	return t, true
}

// connectStatus returns the HTTP status with which a proxy rejected a CONNECT
// request. Go returns only the status text as the error (net/http,
// Transport.dialConn).
func connectStatus(err error) int {
	var urlErr *url.Error
	if !errors.As(err, &urlErr) {
		return 0
	}
	for code := http.StatusBadRequest; code <= http.StatusNetworkAuthenticationRequired; code++ {
		if text := http.StatusText(code); text != "" && urlErr.Err.Error() == text {
			return code
		}
	}
	return 0
}
