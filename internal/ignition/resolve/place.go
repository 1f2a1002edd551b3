// SPDX-License-Identifier: Apache-2.0

package resolve

import (
	"net/url"
	"strings"

	"github.com/hcp-node-agent/hcp-node-agent/internal/transport"
)

// RedactSource returns a source without parts that may be secret: user, password, query, and the
// content of a data URL.
func RedactSource(source string) string {
	if isDataURL(source) {
		return "a data URL"
	}
	parsed, err := url.Parse(source)
	if err != nil {
		return "an invalid URL"
	}
	return transport.RedactURL(parsed)
}

// isDataURL reports whether a source is in the config itself.
func isDataURL(source string) bool { return strings.HasPrefix(source, "data:") }
