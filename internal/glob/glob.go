// Package glob says which names a shell pattern stands for. It is path.Match,
// and one thing more: a pattern that ends in /** stands for everything below.
package glob

import (
	"fmt"
	"path"
	"strings"
)

// below ends a pattern for all that is below a directory, at any depth.
const below = "/**"

// Check tells whether a pattern can be used.
func Check(pattern string) error {
	stem := strings.TrimSuffix(pattern, below)
	if strings.Contains(stem, "**") {
		return fmt.Errorf("pattern %q: ** can only be its end, as in /etc/example.d/**", pattern)
	}
	if _, err := path.Match(stem, ""); err != nil {
		return fmt.Errorf("pattern %q: a bracket or a backslash has no end", pattern)
	}
	return nil
}

// Match tells whether a pattern stands for a name. A * stands for what has no
// slash in it. A pattern that Check refuses stands for nothing.
func Match(pattern, name string) bool {
	stem, deep := strings.CutSuffix(pattern, below)
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
