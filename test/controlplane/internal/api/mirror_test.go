package api_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The two modules cannot import each other's types: the agent's must not get
// this one's dependencies, and this one must not change with the agent's.
func TestFilesEqualThoseOfBed(t *testing.T) {
	for _, name := range []string{"document.go", "switchboard.go"} {
		ours := read(t, name)
		theirs := read(t, filepath.Join("..", "..", "..", "bed", name))
		want := strings.Replace(ours, "package api\n", "package bed\n", 1)
		if diff := cmp.Diff(want, theirs); diff != "" {
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
