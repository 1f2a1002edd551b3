package config

import (
	"fmt"
	"net"
	"net/netip"
	"regexp"
	"strconv"
	"time"
)

// A network change takes two to ten seconds, and the checks after it up to a minute if an
// endpoint does not respond. If a host is unreachable for more than ten minutes,
// administrators start to drive to its site.
const (
	minNetworkTimeout = 30 * time.Second
	maxNetworkTimeout = 10 * time.Minute
)

// hostName matches a DNS name (RFC 1123) or a name in /etc/hosts.
var hostName = regexp.MustCompile(`^[A-Za-z0-9_]([A-Za-z0-9_-]*[A-Za-z0-9_])?(\.[A-Za-z0-9_]([A-Za-z0-9_-]*[A-Za-z0-9_])?)*\.?$`)

// checkHostPort returns an error for an invalid HOST:PORT.
func checkHostPort(peer string) error {
	host, port, err := net.SplitHostPort(peer)
	if err != nil {
		return fmt.Errorf("%q is not HOST:PORT (an IPv6 address requires brackets: [2001:db8::1]:443)", peer)
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
		return fmt.Errorf("%q: the port is not a number from 1 to 65535", peer)
	}
	if _, err := netip.ParseAddr(host); err != nil && !hostName.MatchString(host) {
		return fmt.Errorf("%q: %q is neither an IP address nor a host name", peer, host)
	}
	return nil
}
