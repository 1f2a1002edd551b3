package resolve

import (
	"net/url"
	"strings"

	"github.com/hcp-node-agent/hcp-node-agent/internal/transport"
)

// RedactSource returns a source without parts that may be secret: user, password, query, and the
// content of a data URL.
func RedactSource(source string) string {
	if strings.HasPrefix(source, "data:") {
		return "a data URL"
	}
	parsed, err := url.Parse(source)
	if err != nil {
		return "a URL that cannot be read"
	}
	return transport.RedactURL(parsed)
}

// scheme returns the scheme of a source, "" for no scheme and for an invalid URL.
func scheme(source string) string {
	if strings.HasPrefix(source, "data:") {
		return "data" // avoids parsing megabytes
	}
	parsed, err := url.Parse(source)
	if err != nil {
		return ""
	}
	return parsed.Scheme
}
