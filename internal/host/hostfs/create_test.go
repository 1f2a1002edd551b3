// SPDX-License-Identifier: Apache-2.0

package hostfs

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

func TestCreate(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "a.tar.gz")
	write := func(text string, err error) func(io.Writer) error {
		return func(w io.Writer) error {
			if _, err := io.WriteString(w, text); err != nil {
				return err
			}
			if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 || entries[0].Name() == "a.tar.gz" {
				t.Errorf("while it is written: %v, %v", entries, err)
			}
			return err
		}
	}
	failure := errors.New("no more")
	if err := Create(name, write("half", failure)); !errors.Is(err, failure) {
		t.Errorf("a failure in the middle: %v", err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 {
		t.Errorf("it left %v, %v", entries, err)
	}
	if err := Create(name, write("whole", nil)); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(name)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	touched := false
	if err := Create(name, func(io.Writer) error { touched = true; return nil }); !errors.Is(err, fs.ErrExist) || touched {
		t.Errorf("over an existing file: %v", err)
	}
	// A file that appears while the other is written, and a dangling link.
	other := filepath.Join(dir, "b")
	err = Create(other, func(io.Writer) error { return os.Symlink("/nonexistent/x", other) })
	if !errors.Is(err, fs.ErrExist) {
		t.Errorf("over a link that came meanwhile: %v", err)
	}
	content, err := os.ReadFile(name)
	entries, _ := os.ReadDir(dir)
	if err != nil || string(content) != "whole" || len(entries) != 2 {
		t.Errorf("%q, %v, beside it %v", content, err, entries)
	}
}
