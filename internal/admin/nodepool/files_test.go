// SPDX-License-Identifier: Apache-2.0

package nodepool

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// A rename would replace a device, a link or a pipe.
func TestWriteFileReplacesOnlyRegularFiles(t *testing.T) {
	dir := t.TempDir()
	target := filepath.Join(dir, "target")
	names := map[string]string{"link": target, "dangling": filepath.Join(dir, "none"), "stdout": "/dev/stdout"}
	for name, to := range names {
		if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	for _, err := range []error{
		os.WriteFile(target, []byte("a"), 0o600), os.Mkdir(filepath.Join(dir, "directory"), 0o700),
		unix.Mkfifo(filepath.Join(dir, "pipe"), 0o600),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, path := range []string{
		filepath.Join(dir, "link"), filepath.Join(dir, "dangling"), filepath.Join(dir, "stdout"),
		filepath.Join(dir, "directory"), filepath.Join(dir, "pipe"), "/dev/null",
	} {
		for _, overwrite := range []bool{false, true} {
			before, err := os.Lstat(path)
			if err != nil {
				t.Fatal(err)
			}
			if path != "/dev/null" || os.Geteuid() != 0 { // which the test must not replace, should it fail
				err = WriteFile(path, []byte("a"), overwrite)
			} else {
				err = CheckReplaceable(path)
			}
			after, statErr := os.Lstat(path)
			if report.CodeOf(err) != report.Usage || statErr != nil || !os.SameFile(before, after) {
				t.Errorf("%s, overwrite %t: %v, %v", path, overwrite, err, statErr)
			}
		}
	}
}

func TestWriteFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "user-data.ign")
	check := func(want string) {
		t.Helper()
		content, err := os.ReadFile(path)
		info, statErr := os.Stat(path)
		entries, dirErr := os.ReadDir(dir)
		if err != nil || statErr != nil || dirErr != nil || string(content) != want || info.Mode() != 0o600 ||
			len(entries) != 1 {
			t.Errorf("%q, mode %v, %d files, %v", content, info.Mode(), len(entries), err)
		}
	}
	write := func(content string, overwrite bool) error {
		t.Helper()
		return WriteFile(path, []byte(content), overwrite)
	}
	if err := write("a", false); err != nil {
		t.Fatal(err)
	}
	check("a")
	if err := os.Chmod(path, 0o644); err != nil { //nolint:gosec // another program has changed the mode
		t.Fatal(err)
	}
	if err := write("a", false); err != nil {
		t.Fatal(err)
	}
	check("a")
	if err := write("b", false); report.CodeOf(err) != report.Usage || !strings.Contains(err.Error(), "another content") {
		t.Errorf("writing another content: %v", err)
	}
	check("a")
	if err := write("b", true); err != nil {
		t.Fatal(err)
	}
	check("b")
	if err := WriteFile(filepath.Join(dir, "none", "file"), []byte("a"), false); err == nil {
		t.Error("a file was written in a directory that does not exist")
	}
	if err := WriteFile(dir, []byte("a"), true); err == nil {
		t.Error("a directory was replaced")
	}
	check("b")
}
