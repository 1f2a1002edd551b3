// SPDX-License-Identifier: Apache-2.0

package hostnet

import (
	"os"
	"path"
	"strings"

	"github.com/hcp-node-agent/hcp-node-agent/internal/wrap"
)

// ReversePathFilter returns net.ipv4.conf.LINK.rp_filter: 0 off, 1 strict, 2
// loose.
func ReversePathFilter(link string) (string, error) {
	content, err := os.ReadFile(reversePathFile(link))
	return strings.TrimSpace(string(content)), wrap.Errorf(err, "reading the reverse path filter of %s", link)
}

// SetReversePathFilter sets net.ipv4.conf.LINK.rp_filter.
func SetReversePathFilter(link, value string) error {
	return wrap.Errorf(os.WriteFile(reversePathFile(link), []byte(value+"\n"), 0),
		"setting the reverse path filter of %s", link)
}

func reversePathFile(link string) string {
	return path.Join("/proc/sys/net/ipv4/conf", path.Base(link), "rp_filter")
}
