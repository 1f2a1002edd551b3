package resolve

import (
	"encoding/json"
	"fmt"
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

// scheme of a source; "" for none, and for what is no URL.
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

// schemeAt names the scheme of the source at a path of a config, which
// Ignition's validation only calls invalid.
func schemeAt(raw []byte, path []any) string {
	var node any
	if json.Unmarshal(raw, &node) != nil {
		return ""
	}
	for _, step := range path {
		switch parent := node.(type) {
		case map[string]any:
			key, _ := step.(string)
			node = parent[key]
		case []any:
			i, ok := step.(int)
			if !ok || i < 0 || i >= len(parent) {
				return ""
			}
			node = parent[i]
		}
	}
	source, ok := node.(string)
	if !ok || scheme(source) == "" {
		return ""
	}
	return fmt.Sprintf(" (%q; possible are data, http and https)", scheme(source))
}
