// SPDX-License-Identifier: Apache-2.0

package hostfs

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestBuildDirectory(t *testing.T) {
	name := filepath.Join(t.TempDir(), "parent", "dir")
	failure := errors.New("failure of the test")
	write := func(content string, err error) func(string) error {
		return func(dir string) error {
			if _, exists := os.Stat(name); exists == nil {
				t.Error("the directory has its name before it is complete")
			}
			return errors.Join(os.WriteFile(filepath.Join(dir, "file"), []byte(content), 0o600), err)
		}
	}
	if err := BuildDirectory(name, write("incomplete", failure)); !errors.Is(err, failure) {
		t.Fatalf("BuildDirectory() = %v", err)
	}
	if left := names(t, filepath.Dir(name)); len(left) != 0 {
		t.Errorf("a failure leaves %q", left)
	}
	if err := os.MkdirAll(filepath.Join(name+partSuffix, "left by an interrupted run"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := BuildDirectory(name, write("complete", nil)); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"/dir", "/dir/file=complete"}, names(t, filepath.Dir(name))); diff != "" {
		t.Error(diff)
	}
	if err := BuildDirectory(name, write("again", nil)); !errors.Is(err, fs.ErrExist) {
		t.Errorf("BuildDirectory() = %v for an existing directory", err)
	}
}
