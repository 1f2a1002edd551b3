package config

import (
	"fmt"
	"net"
	"net/netip"
	"regexp"
	"strconv"
	"time"
)

// A change of the network takes two to ten seconds and the checks after it up
// to a minute when somebody does not answer; a host that is out of reach for
// longer than ten minutes is one that somebody drives to.
const (
	leastNetworkTimeout = 30 * time.Second
	mostNetworkTimeout  = 10 * time.Minute
)

// hostName is a name of DNS (RFC 1123), or one of /etc/hosts.
var hostName = regexp.MustCompile(`^[A-Za-z0-9_]([A-Za-z0-9_-]*[A-Za-z0-9_])?(\.[A-Za-z0-9_]([A-Za-z0-9_-]*[A-Za-z0-9_])?)*\.?$`)

// checkPeer tells what is wrong with HOST:PORT.
func checkPeer(peer string) error {
	host, port, err := net.SplitHostPort(peer)
	if err != nil {
		return fmt.Errorf("%q is not HOST:PORT (an IPv6 address has brackets: [2001:db8::1]:443)", peer)
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
		return fmt.Errorf("%q: the port is not a number from 1 to 65535", peer)
	}
	if _, err := netip.ParseAddr(host); err != nil && !hostName.MatchString(host) {
		return fmt.Errorf("%q: %q is neither an address nor the name of a host", peer, host)
	}
	return nil
}
