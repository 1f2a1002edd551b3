// SPDX-License-Identifier: Apache-2.0

package osimage

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/test/compatibility"
)

// The lists of files that releases have written are read, and a change of their format is detected.
func TestFormatOfFileList(t *testing.T) {
	dir := t.TempDir()
	if err := compatibility.Fill[fileList](t).write(dir); err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(filepath.Join(dir, listName))
	if err != nil {
		t.Fatal(err)
	}
	newer := strings.Replace(string(content), `"files"`, `"future": 1, "files"`, 1)
	if err := os.WriteFile(filepath.Join(dir, listName), []byte(newer), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := readList(dir); report.CodeOf(err) != report.Refused || !strings.Contains(err.Error(), `"future"`) {
		t.Errorf("a list of a newer agent: %v", err)
	}
	compatibility.Check(t, "software/"+listName, content)
	for _, release := range compatibility.Releases(t) {
		if _, err := readList(filepath.Join(release, "software")); err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %v", release, err)
		}
	}
}
