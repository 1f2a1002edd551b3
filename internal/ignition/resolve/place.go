package resolve

import (
	"net/url"
	"strings"

	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition/fetch"
)

// Place returns a source without parts that may be secret: a user, a password, a signature in the query, the bytes of a
// data URL.
func Place(source string) string {
	if strings.HasPrefix(source, "data:") {
		return "a data URL"
	}
	parsed, err := url.Parse(source)
	if err != nil {
		return "a URL that cannot be read"
	}
	return fetch.Place(parsed)
}

// scheme returns the scheme of a source, "" for none and for a source that is no URL.
func scheme(source string) string {
	if strings.HasPrefix(source, "data:") {
		return "data" // without reading megabytes as a URL
	}
	parsed, err := url.Parse(source)
	if err != nil {
		return ""
	}
	return parsed.Scheme
}
