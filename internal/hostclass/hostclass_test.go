// SPDX-License-Identifier: Apache-2.0

package hostclass

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestClassesAreComparedHere checks that no other package decides by the class of a host. Package hostinfo finds out
// the class.
func TestClassesAreComparedHere(t *testing.T) {
	class := regexp.MustCompile(`hostclass\.(PackageMode|Bootc|CoreOS)\b|Facts\.OSTree\b|[Hh]ost\.OSTree\b`)
	files := 0
	for _, root := range []string{"..", "../../cmd"} {
		err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") ||
				strings.HasPrefix(path, "../host/hostinfo/") {
				return err
			}
			files++
			content, err := os.ReadFile(path)
			if found := class.Find(content); found != nil {
				t.Errorf("%s contains %s: ask for a capability", path, found)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if files < 100 {
		t.Errorf("only %d files were read", files)
	}
}
