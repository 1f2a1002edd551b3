// SPDX-License-Identifier: Apache-2.0

package hostnet

import (
	"errors"
	"net/netip"
	"os"
	"strings"

	"github.com/hcp-node-agent/hcp-node-agent/internal/wrap"
)

// Resolver contains the name servers and search domains that the host uses.
type Resolver struct {
	Nameservers []netip.Addr `json:"nameservers,omitempty"`
	Search      []string     `json:"search,omitempty"`
}

// ReadResolver reads /etc/resolv.conf.
func ReadResolver() (Resolver, error) {
	content, err := os.ReadFile("/etc/resolv.conf")
	if errors.Is(err, os.ErrNotExist) {
		return Resolver{}, nil
	}
	return parseResolver(string(content)), wrap.Errorf(err, "reading the name servers")
}

// parseResolver omits the addresses of systemd-resolved, which gets its name servers from elsewhere.
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
			r.Search = words[1:]
		}
	}
	return r
}
