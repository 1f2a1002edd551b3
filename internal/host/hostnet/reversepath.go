// SPDX-License-Identifier: Apache-2.0

package hostnet

import (
	"fmt"
	"os"
	"path"
	"strings"
)

// ReversePathFilter returns net.ipv4.conf.LINK.rp_filter: 0 off, 1 strict, 2
// loose.
func ReversePathFilter(link string) (string, error) {
	content, err := os.ReadFile(reversePathFile(link))
	if err != nil {
		return "", fmt.Errorf("reading the reverse path filter of %s: %w", link, err)
	}
	return strings.TrimSpace(string(content)), nil
}

// SetReversePathFilter sets net.ipv4.conf.LINK.rp_filter.
func SetReversePathFilter(link, value string) error {
	if err := os.WriteFile(reversePathFile(link), []byte(value+"\n"), 0); err != nil {
		return fmt.Errorf("setting the reverse path filter of %s: %w", link, err)
	}
	return nil
}

func reversePathFile(link string) string {
	return path.Join("/proc/sys/net/ipv4/conf", path.Base(link), "rp_filter")
}
