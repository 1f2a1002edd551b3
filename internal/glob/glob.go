// SPDX-License-Identifier: Apache-2.0

// Package glob matches names against shell patterns. It is path.Match with one extension: a
// pattern that ends in /** matches everything below a directory.
package glob

import (
	"errors"
	"path"
	"strings"
)

// belowSuffix is the end of a pattern that matches everything below a directory, at any depth.
const belowSuffix = "/**"

// Validate returns an error for an invalid pattern. The error does not contain the pattern.
func Validate(pattern string) error {
	stem := strings.TrimSuffix(pattern, belowSuffix)
	if strings.Contains(stem, "**") {
		return errors.New("** can only be at the end, as in /etc/example.d/**")
	}
	if _, err := path.Match(stem, ""); err != nil {
		return errors.New("a bracket or a backslash has no end")
	}
	return nil
}

// Match reports whether a pattern matches a name. A * does not match slashes. An invalid
// pattern matches nothing.
func Match(pattern, name string) bool {
	stem, deep := strings.CutSuffix(pattern, belowSuffix)
	if !deep {
		return matches(pattern, name)
	}
	for parent := path.Dir(name); ; parent = path.Dir(parent) {
		if matches(stem, strings.TrimSuffix(parent, "/")) {
			return true
		}
		if parent == path.Dir(parent) {
			return false
		}
	}
}

func matches(pattern, name string) bool {
	ok, err := path.Match(pattern, name)
	return err == nil && ok
}
