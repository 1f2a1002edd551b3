// SPDX-License-Identifier: Apache-2.0

package ignition

import (
	"cmp"
	"crypto/tls"
	"net"
)

// DirectAddress returns the address of the server as HOST:PORT, and the TLS configuration for it. It
// reports false if the server is reached through a proxy, or the user data names no server.
func (f Fetcher) DirectAddress(userData *UserData) (address string, trust *tls.Config, ok bool) {
	if userData == nil || userData.Source == nil {
		return "", nil, false
	}
	if proxy, err := f.proxy(userData); err != nil || proxy != nil {
		return "", nil, false
	}
	trust = &tls.Config{RootCAs: userData.rootCAs(), ServerName: userData.Source.Hostname(), MinVersion: tls.VersionTLS12}
	return cmp.Or(f.ConnectTo, net.JoinHostPort(userData.Source.Hostname(), cmp.Or(userData.Source.Port(), "443"))), trust, true
}
