// SPDX-License-Identifier: Apache-2.0

package osimage

import (
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/dnf"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
	"github.com/hcp-node-agent/hcp-node-agent/internal/software"
)

// unpackedDirectory returns a directory with the list of unpacked files, and its item.
func unpackedDirectory(t *testing.T, name, version string, paths ...string) ledger.Item {
	t.Helper()
	list := fileList{Versions: map[string]string{name: version}}
	for _, path := range paths {
		list.Files = append(list.Files, dnf.PackageFile{Package: name, Path: path, Mode: unix.S_IFREG | 0o755})
	}
	dir := t.TempDir()
	if err := list.write(dir); err != nil {
		t.Fatal(err)
	}
	return ledger.Item{Change: ledger.Change{Kind: Kind, Target: dir}, Done: true}
}

func placedFile(dir ledger.Item, path string) ledger.Item {
	return ledger.Item{Done: true, Change: ledger.Change{
		Kind: ledger.Symlink, Target: path, Reason: placed, Desired: ledger.State{
			Present: true,
			Link:    filepath.Join(dir.Target, path),
		},
	}}
}

func TestUnused(t *testing.T) {
	linked := unpackedDirectory(t, "cri-o", "1.33.1-1.el9", "/usr/bin/crio")
	unused := unpackedDirectory(t, "cri-o", "1.34.1-1.el9", "/usr/bin/crio")
	kept := ledger.Item{Change: ledger.Change{Kind: Kind, Target: DirectoryOf("quay.io/os@sha256:01")}}
	items := []ledger.Item{linked, unused, kept, placedFile(linked, "/usr/bin/crio")}
	if diff := cmp.Diff(
		[]string{unused.Target}, Unused(items, nil, &software.Contents{Image: "quay.io/os@sha256:01"}),
	); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestPlaced(t *testing.T) {
	older := unpackedDirectory(t, "openvswitch3.4", "3.4.0-1.el9", "/usr/bin/ovs-vsctl", "/usr/bin/ovs-removed")
	newer := unpackedDirectory(t, "openvswitch3.5", "3.5.0-1.el9", "/usr/bin/ovs-vsctl")
	incomplete := ledger.Item{Change: ledger.Change{Kind: Kind, Target: older.Target + "/missing"}}
	items := []ledger.Item{
		older, newer, incomplete, placedFile(older, "/usr/bin/ovs-removed"), placedFile(newer, "/usr/bin/ovs-vsctl"),
	}
	got, err := Placed(items)
	if err != nil {
		t.Fatal(err)
	}
	want := []software.Unpacked{
		{Name: "openvswitch3.4", Version: "3.4.0-1.el9"},
		{Name: "openvswitch3.5", Version: "3.5.0-1.el9"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}

	for replaced, paths := range map[string][]string{"openvswitch3.4": {"/usr/bin/ovs-removed"}, "cri-o": nil} {
		isObsolete, err := Obsolete(items, newer.Target, func(name string) bool { return name == replaced })
		if err != nil {
			t.Fatal(err)
		}
		var obsolete []string
		for _, item := range items {
			if isObsolete(item) {
				obsolete = append(obsolete, item.Target)
			}
		}
		if diff := cmp.Diff(paths, obsolete); diff != "" {
			t.Errorf("obsolete if %s is replaced (-want +got):\n%s", replaced, diff)
		}
	}
}
