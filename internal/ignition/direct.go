package ignition

import (
	"cmp"
	"crypto/tls"
	"net"
)

// Direct returns the address of the server as HOST:PORT, and the TLS configuration for it. It
// reports false if the server is reached through a proxy, or the user data names no server.
func (f Fetcher) Direct(stub *Stub) (address string, trust *tls.Config, ok bool) {
	if stub == nil || stub.Source == nil {
		return "", nil, false
	}
	if proxy, err := f.proxy(stub); err != nil || proxy != nil {
		return "", nil, false
	}
	trust = &tls.Config{RootCAs: stub.trust(), ServerName: stub.Source.Hostname(), MinVersion: tls.VersionTLS12}
	return cmp.Or(f.ConnectTo, net.JoinHostPort(stub.Source.Hostname(), cmp.Or(stub.Source.Port(), "443"))), trust, true
}
