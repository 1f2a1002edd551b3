package config

import (
	"fmt"
	"path"
	"strings"

	"github.com/hcp-node-agent/hcp-node-agent/internal/glob"
)

// checkDrop tells what is wrong with a pattern of payload.drop. One that could
// never match is an error too: it is a typing error, and what somebody wanted
// to keep off a host would be written.
func checkDrop(pattern string) error {
	switch {
	case pattern == "":
		return fmt.Errorf("an empty pattern")
	case strings.HasPrefix(pattern, "/") && path.Clean(pattern) != pattern:
		return fmt.Errorf("pattern %q: the path is not clean; %q is", pattern, path.Clean(pattern))
	case !strings.HasPrefix(pattern, "/") && (strings.Count(pattern, "/") > 1 || strings.HasPrefix(pattern, ".") || strings.HasSuffix(pattern, "/")):
		return fmt.Errorf("pattern %q: it is neither an absolute path nor UNIT or UNIT/DROP-IN", pattern)
	}
	return glob.Check(pattern)
}
