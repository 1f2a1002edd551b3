// SPDX-License-Identifier: Apache-2.0

package config

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"regexp"
	"strconv"
	"strings"
)

// hostName matches a DNS name (RFC 1123) or a name in /etc/hosts.
var hostName = regexp.MustCompile(`^` + hostLabel + `(\.` + hostLabel + `)*\.?$`)

const hostLabel = `[A-Za-z0-9_]([A-Za-z0-9_-]*[A-Za-z0-9_])?`

// checkHostPort returns an error for an invalid HOST:PORT.
func checkHostPort(text string) error {
	host, port, err := net.SplitHostPort(text)
	if err != nil {
		return errors.New("must be HOST:PORT (an IPv6 address requires brackets: [2001:db8::1]:443)")
	}
	if err := checkPort(port); err != nil {
		return err
	}
	return checkHost(host)
}

func checkPort(port string) error {
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
		return errors.New("the port must be a number from 1 to 65535")
	}
	return nil
}

func checkHost(host string) error {
	if _, err := netip.ParseAddr(host); err != nil && !hostName.MatchString(host) {
		return fmt.Errorf("%q is neither an IP address nor a host name", host)
	}
	return nil
}

// checkInterface returns an error for a name that the kernel allows for no interface
// (dev_valid_name in net/core/dev.c).
func checkInterface(name string) error {
	if len(name) > 15 || name == "." || name == ".." || strings.ContainsAny(name, "/: \t\n\v\f\r") {
		return errors.New("must be the name of an interface: at most 15 characters, without / : and spaces")
	}
	return nil
}

func checkEndpoint(text string) error {
	_, err := ParseEndpoint(text)
	return err
}

// ParseEndpoint returns the URL of the server that serves payloads at the endpoint: HOST,
// HOST:PORT or an https URL. The path is empty unless the endpoint contains one.
func ParseEndpoint(text string) (*url.URL, error) {
	text = strings.TrimSpace(text)
	if address, err := netip.ParseAddr(text); err == nil && address.Is6() {
		text = "[" + text + "]" // "fd00::1" would be parsed as a host and a port
	}
	if !strings.Contains(text, "://") {
		text = "https://" + text
	}
	source, err := url.Parse(text)
	if err != nil {
		return nil, errors.New("must be HOST, HOST:PORT or an https URL")
	}
	if err := CheckPayloadURL(source); err != nil {
		return nil, err
	}
	if port := source.Port(); port != "" {
		if err := checkPort(port); err != nil {
			return nil, err
		}
	}
	return source, checkHost(source.Hostname())
}

// CheckPayloadURL returns an error if a payload must not be fetched from the URL. A payload
// contains the pull secret and a credential of the cluster, so it is never sent unencrypted.
func CheckPayloadURL(source *url.URL) error {
	switch {
	case source.Scheme == "http":
		return errors.New("http is not allowed, because the payload contains credentials; use https")
	case source.Scheme != "https":
		return fmt.Errorf("unsupported scheme %q; only https is allowed", source.Scheme)
	case source.Hostname() == "":
		return errors.New("the host is missing")
	case source.User != nil:
		return errors.New("user names are not allowed in the URL; the ignition server requires a token in a header")
	case source.Fragment != "":
		return errors.New("fragments (#) are not allowed in the URL")
	}
	return nil
}
