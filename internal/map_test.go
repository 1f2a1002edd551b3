// SPDX-License-Identifier: Apache-2.0

package internal_test

import (
	"maps"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The map in CONTRIBUTING.md names each package of internal, and no other one.
func TestMapOfPackages(t *testing.T) {
	content, err := os.ReadFile("../CONTRIBUTING.md")
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(string(content), "```text\n")
	text, _, _ = strings.Cut(text, "```\n")
	named := map[string]bool{}
	inInternal := false
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, " ") {
			inInternal = strings.HasPrefix(line, "internal/")
			if directory := strings.Fields(line); inInternal && directory[0] != "internal/" {
				named[path.Base(directory[0])] = true
			}
			continue
		}
		for _, name := range regexp.MustCompile(`[a-z0-9]+/`).FindAllString(line, -1) {
			named[strings.TrimSuffix(name, "/")] = inInternal || named[strings.TrimSuffix(name, "/")]
		}
	}
	existing := map[string]bool{}
	for name := range readImports(t) {
		if strings.HasPrefix(name, "cmd/") {
			continue
		}
		for ; name != "."; name = path.Dir(name) {
			existing[path.Base(name)] = true
		}
	}
	delete(existing, "v1alpha1") // below api
	for _, name := range slices.Sorted(maps.Keys(existing)) {
		if !named[name] {
			t.Errorf("the map in CONTRIBUTING.md does not name %s/", name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(named)) {
		if named[name] && !existing[name] {
			t.Errorf("the map in CONTRIBUTING.md names %s/, which does not exist", name)
		}
	}
}
