// SPDX-License-Identifier: Apache-2.0

package crio

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostfs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger/resource"
)

func TestUndoRemovesOnlyOwnStorage(t *testing.T) {
	for name, test := range map[string]struct {
		before     string // a file that existed
		containers string // containers left in the list
		stays      bool
		created    string // a file that podman has created since
	}{
		"ours":                  {"", "[]", false, ""},
		"podman's were there":   {"storage/overlay-images/images.json", "[]", true, ""},
		"podman's came since":   {"", `[{"id":"of podman"}]`, true, ""},
		"damaged list is no go": {"", "{", true, ""},
		"volume of podman":      {"", "[]", true, "storage/volumes/database/_data/db"},
		"secret of podman":      {"", "[]", true, "storage/secrets/filedriver/secretsdata.json"},
		"quadlet":               {"", "[]", true, "storage/overlay-containers/volatile-containers.json"},
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			tree, err := hostfs.OpenTree(root)
			if err != nil {
				t.Fatal(err)
			}
			defer tree.Close()
			write := func(file, content string) {
				p := filepath.Join(root, StorageDir, file)
				if err := os.MkdirAll(filepath.Dir(p), 0o750); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(p, []byte(content), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if test.before != "" {
				write(test.before, "[]")
			}
			driver := &StorageDriver{Contents: &resource.DirSnapshot{Tree: tree}}
			change := ledger.Change{Kind: StorageKind, Target: StorageDir}
			before, err := driver.Get(t.Context(), change)
			if err != nil {
				t.Fatal(err)
			}
			write("storage/overlay-containers/containers.json", test.containers)
			if test.created != "" {
				write(test.created, `["data"]`)
			}
			err = driver.Restore(t.Context(), change, before)
			_, gone := os.Stat(filepath.Join(root, StorageDir))
			if test.stays == os.IsNotExist(gone) {
				t.Errorf("stays: %v, error %v", gone == nil, err)
			}
		})
	}
}

// A purge keeps the images that existed before the join, wherever links lead to the storage.
func TestStorageRecordsImages(t *testing.T) {
	image := strings.Repeat("0a", 32)
	for _, test := range []struct {
		name  string
		dirs  []string
		links [][2]string // and their targets
	}{
		{name: "no link"},
		{
			name: "the directory", dirs: []string{"data/a", "var/lib"},
			links: [][2]string{{"var/lib/containers", "../../data/a"}},
		},
		{
			name: "the storage in it", dirs: []string{"data/b", "var/lib/containers"},
			links: [][2]string{{"var/lib/containers/storage", "../../../data/b"}},
		},
		{
			name: "every level", dirs: []string{"data/var/lib", "data/a", "data/b"},
			links: [][2]string{{"var", "data/var"}, {"var/lib/containers", "../../a"}, {"data/a/storage", "../b"}},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			root := t.TempDir()
			for _, dir := range test.dirs {
				if err := os.MkdirAll(filepath.Join(root, dir), 0o750); err != nil {
					t.Fatal(err)
				}
			}
			for _, link := range test.links {
				if err := os.Symlink(link[1], filepath.Join(root, link[0])); err != nil {
					t.Fatal(err)
				}
			}
			for _, dir := range []string{
				"storage/overlay/" + image, "storage/overlay-images/" + image + "/" + image, "storage/overlay-images/incomplete",
			} {
				if err := os.MkdirAll(filepath.Join(root, StorageDir, dir), 0o750); err != nil {
					t.Fatal(err)
				}
			}
			tree, err := hostfs.OpenTree(root)
			if err != nil {
				t.Fatal(err)
			}
			defer tree.Close()
			state, err := (&StorageDriver{Contents: &resource.DirSnapshot{Tree: tree}}).Get(t.Context(),
				ledger.Change{Kind: StorageKind, Target: StorageDir})
			if err != nil {
				t.Fatal(err)
			}
			if want := []string{
				StorageDir + "/storage", StorageDir + "/storage/overlay-images/" + image,
			}; !slices.Equal(state.Names, want) {
				t.Errorf("recorded %q, want %q", state.Names, want)
			}
		})
	}
}
