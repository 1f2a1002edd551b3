package ignition

import (
	"cmp"
	"crypto/tls"
	"net"
)

// Direct is where the stub's server is reached, as HOST:PORT, and how it is
// trusted; false when a proxy leads to it, or the stub names none.
func (f Fetcher) Direct(stub *Stub) (address string, trust *tls.Config, ok bool) {
	if stub == nil || stub.Source == nil {
		return "", nil, false
	}
	dialled := *stub.Source
	if f.ConnectTo != "" {
		dialled.Host = f.ConnectTo
	}
	if proxy, err := proxyFor(stub.Proxy, &dialled); err != nil || proxy != nil {
		return "", nil, false
	}
	trust = &tls.Config{RootCAs: stub.trust(), ServerName: stub.Source.Hostname(), MinVersion: tls.VersionTLS12}
	return net.JoinHostPort(dialled.Hostname(), cmp.Or(dialled.Port(), "443")), trust, true
}
