// SPDX-License-Identifier: Apache-2.0

package hostfs

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestNewestChangeAfterRename(t *testing.T) {
	root := t.TempDir()
	tree, err := OpenTree(root)
	if err != nil {
		t.Fatal(err)
	}
	defer tree.Close()
	if none, err := tree.NewestChange("/etc/crio"); err != nil || !none.IsZero() {
		t.Errorf("an empty host: %v, %v", none, err)
	}
	dir := filepath.Join(root, "etc/crio/crio.conf.d")
	if err := os.MkdirAll(dir, 0o750); err != nil {
		t.Fatal(err)
	}
	old := filepath.Join(root, "old")
	if err := os.WriteFile(old, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	past := time.Now().Add(-time.Hour)
	if err := os.Chtimes(old, past, past); err != nil {
		t.Fatal(err)
	}
	before, err := tree.NewestChange("/etc/crio")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(old, filepath.Join(dir, "00-default")); err != nil {
		t.Fatal(err)
	}
	if after, err := tree.NewestChange("/etc/crio"); err != nil || !after.After(before) {
		t.Errorf("an old file that was moved in is not seen: %v, then %v (%v)", before, after, err)
	}
}
