// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The two modules cannot import each other's types: the agent's module must not get the
// dependencies of this module, and this module must not change with the agent's.
func TestFilesEqualThoseOfBed(t *testing.T) {
	for _, name := range []string{"document.go", "admin.go"} {
		local := read(t, name)
		original := read(t, filepath.Join("..", "..", "..", "bed", name))
		want := strings.Replace(local, "package api\n", "package bed\n", 1)
		if diff := cmp.Diff(want, original); diff != "" {
			t.Errorf("test/bed/%s is not the same file (-here +there):\n%s", name, diff)
		}
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}
