package config

import (
	"errors"
	"fmt"
	"path"
	"strings"

	"github.com/hcp-node-agent/hcp-node-agent/internal/glob"
)

// checkExclude returns an error for an invalid pattern of payload.drop. A pattern that can
// never match is also an error: it is a typing error, and the object to exclude would be
// written to the host.
func checkExclude(pattern string) error {
	switch {
	case pattern == "":
		return errors.New("the pattern is empty")
	case strings.HasPrefix(pattern, "/") && path.Clean(pattern) != pattern:
		return fmt.Errorf("pattern %q: the path is not in its shortest form, which is %q", pattern, path.Clean(pattern))
	case !strings.HasPrefix(pattern, "/") && (strings.Count(pattern, "/") > 1 || strings.HasPrefix(pattern, ".") || strings.HasSuffix(pattern, "/")):
		return fmt.Errorf("pattern %q is neither an absolute path nor UNIT or UNIT/DROP-IN", pattern)
	}
	return glob.Validate(pattern)
}
