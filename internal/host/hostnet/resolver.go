// SPDX-License-Identifier: Apache-2.0

package hostnet

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"slices"
	"strings"
)

// Resolver contains the name servers and search domains that the host uses.
type Resolver struct {
	Nameservers []netip.Addr `json:"nameservers,omitempty"`
	Search      []string     `json:"search,omitempty"`
}

// ReadResolver reads /etc/resolv.conf, or the file with the servers of systemd-resolved if that lists systemd-resolved
// alone.
func ReadResolver() (Resolver, error) {
	var r Resolver
	for _, file := range []string{"/etc/resolv.conf", "/run/systemd/resolve/resolv.conf"} {
		content, err := os.ReadFile(file)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return r, fmt.Errorf("reading the name servers: %w", err)
		}
		if r = parseResolver(string(content)); len(r.Nameservers) > 0 {
			break
		}
	}
	return r, nil
}

// parseResolver omits the addresses and the empty search list of systemd-resolved.
func parseResolver(content string) Resolver {
	var r Resolver
	for line := range strings.Lines(content) {
		words := strings.Fields(line)
		if len(words) < 2 {
			continue
		}
		switch words[0] {
		case "nameserver":
			server, err := netip.ParseAddr(words[1])
			if err == nil && words[1] != "127.0.0.53" && words[1] != "127.0.0.54" {
				r.Nameservers = append(r.Nameservers, server)
			}
		case "search", "domain":
			r.Search = slices.DeleteFunc(words[1:], func(domain string) bool { return domain == "." })
		}
	}
	return r
}
