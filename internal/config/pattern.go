// SPDX-License-Identifier: Apache-2.0

package config

import (
	"errors"
	"fmt"
	"path"
	"strings"
)

// belowSuffix is the end of a pattern that matches everything below a directory, at any depth.
const belowSuffix = "/**"

// ValidatePattern returns an error for an invalid pattern. The error does not contain the pattern.
func ValidatePattern(pattern string) error {
	stem := strings.TrimSuffix(pattern, belowSuffix)
	if strings.Contains(stem, "**") {
		return errors.New("** can only be at the end, as in /etc/example.d/**")
	}
	if _, err := path.Match(stem, ""); err != nil {
		return errors.New("a bracket or a backslash has no end")
	}
	return nil
}

// MatchPath reports whether a pattern matches a path. It is path.Match, but a pattern that ends in /** matches
// everything below a directory. A * does not match slashes. An invalid
// pattern matches nothing.
func MatchPath(pattern, name string) bool {
	stem, deep := strings.CutSuffix(pattern, belowSuffix)
	if !deep {
		return matchesShell(pattern, name)
	}
	for parent := path.Dir(name); ; parent = path.Dir(parent) {
		if matchesShell(stem, strings.TrimSuffix(parent, "/")) {
			return true
		}
		if parent == path.Dir(parent) {
			return false
		}
	}
}

func matchesShell(pattern, name string) bool {
	ok, err := path.Match(pattern, name)
	return err == nil && ok
}

// checkExclude returns an error for an invalid pattern of payload.drop. A pattern that can
// never match is also an error: it is a typing error, and the object to exclude would be
// written to the host.
func checkExclude(pattern string) error {
	switch {
	case pattern == "":
		return errors.New("must not be empty")
	case strings.HasPrefix(pattern, "/") && path.Clean(pattern) != pattern:
		return fmt.Errorf("must be in its shortest form, %s", path.Clean(pattern))
	case !strings.HasPrefix(pattern, "/") && (strings.Count(pattern, "/") > 1 ||
		strings.HasPrefix(pattern, ".") || strings.HasSuffix(pattern, "/")):
		return errors.New("must be an absolute path, UNIT or UNIT/DROP-IN")
	}
	return ValidatePattern(pattern)
}
