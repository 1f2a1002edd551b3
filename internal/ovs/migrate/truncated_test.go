// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostfs"
)

func TestEmptyFiles(t *testing.T) {
	root := t.TempDir()
	tree, err := hostfs.OpenTree(root)
	if err != nil {
		t.Fatal(err)
	}
	defer tree.Close()
	const database, identity = "/var/lib/openvswitch/conf.db", "/etc/openvswitch/system-id.conf"
	create := func(name, content string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Join(root, filepath.Dir(name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(root, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	empty := func(want ...string) map[string]uint64 {
		t.Helper()
		found, err := (&Driver{Tree: tree}).emptyFiles()
		if err != nil || len(found) != len(want) {
			t.Fatalf("%v, %v, want %q", found, err, want)
		}
		for _, name := range want {
			if found[name] == 0 {
				t.Errorf("%v, want %q", found, want)
			}
		}
		return found
	}
	empty() // none of the files exists
	create(database, "")
	create(identity, "")
	if err := os.Symlink(filepath.Join(root, database), filepath.Join(root, "/etc/openvswitch/conf.db")); err != nil {
		t.Fatal(err)
	}
	first := empty(database, identity) // and not the link
	create(identity+".new", "")
	if err := os.Rename(filepath.Join(root, identity+".new"), filepath.Join(root, identity)); err != nil {
		t.Fatal(err)
	}
	if later := empty(database, identity); later[database] != first[database] || later[identity] == first[identity] {
		t.Errorf("a new file is mistaken for the old one: %v, %v", first, later)
	}
	create(database, "filled")
	empty(identity)
}
