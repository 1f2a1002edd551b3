// SPDX-License-Identifier: Apache-2.0

package dnf

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// signatureChecks returns for each configured repository whether the signatures of its
// packages are checked. dnf has no command for that.
func (h Host) signatureChecks() (map[string]bool, error) {
	main, err := os.ReadFile(filepath.Join("/", h.Root, "etc/dnf/dnf.conf"))
	if err != nil && !os.IsNotExist(err) {
		return nil, fmt.Errorf("reading the configuration of dnf: %w", err)
	}
	files, err := filepath.Glob(filepath.Join("/", h.Root, "etc/yum.repos.d/*.repo"))
	if err != nil {
		return nil, fmt.Errorf("listing the repository files: %w", err)
	}
	found := map[string]bool{}
	byDefault := sections(string(main))["main"]["gpgcheck"] // off by default, dnf.conf(5)
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("reading the configuration of a repository: %w", err)
		}
		for id, values := range sections(string(content)) {
			value, given := values["gpgcheck"]
			if !given {
				value = byDefault
			}
			found[id] = isTrue(value)
		}
	}
	return found, nil
}

// sections parses an INI file into values by section and key.
func sections(content string) map[string]map[string]string {
	all := map[string]map[string]string{}
	var current map[string]string
	for line := range strings.Lines(content) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "[") && strings.HasSuffix(line, "]") {
			current = map[string]string{}
			all[strings.Trim(line, "[]")] = current
			continue
		}
		key, value, pair := strings.Cut(line, "=")
		if pair && current != nil && !strings.HasPrefix(line, "#") {
			current[strings.TrimSpace(key)] = strings.TrimSpace(value)
		}
	}
	return all
}

// isTrue parses a boolean in the syntax of dnf.conf(5).
func isTrue(value string) bool {
	switch strings.ToLower(value) {
	case "1", "yes", "true", "on":
		return true
	}
	return false
}
