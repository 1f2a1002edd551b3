// SPDX-License-Identifier: Apache-2.0

package osimage

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/dnf"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
	"github.com/hcp-node-agent/hcp-node-agent/internal/software"
)

func TestPlace(t *testing.T) {
	dir := t.TempDir()
	unit := filepath.Join(dir, "usr/lib/systemd/system/crio.service")
	if err := os.MkdirAll(filepath.Dir(unit), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(unit, []byte("[Unit]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	list := fileList{Files: []dnf.PackageFile{
		{Package: "cri-o", Path: "/usr/bin/crio", Mode: unix.S_IFREG | 0o755},
		{Package: "cri-o", Path: "/usr/bin/crio-link", Mode: unix.S_IFLNK | 0o777, Link: "crio"},
		{Package: "cri-o", Path: "/usr/lib/systemd/system/crio.service", Mode: unix.S_IFREG | 0o644},
		{Package: "openshift-kubelet", Path: "/usr/bin/kubelet", Mode: unix.S_IFREG | 0o755},
	}}
	if err := list.write(dir); err != nil {
		t.Fatal(err)
	}
	changes, err := Place(dir, []string{"cri-o"})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, change := range changes {
		got = append(got, string(change.Kind)+" "+change.Target+": "+change.Desired.String())
	}
	items := []ledger.Item{
		{Change: ledger.Change{Kind: Kind, Target: dir + "/missing"}},
		{Change: ledger.Change{Kind: Kind, Target: dir}, Done: true},
	}
	for i, change := range changes {
		items = append(items, ledger.Item{Change: change, Done: i > 0})
	}
	isIncomplete := func(p software.Unpacked) bool { return p.Name == "cri-o" && p.Incomplete }
	if packages, err := Placed(items); err != nil || !slices.ContainsFunc(packages, isIncomplete) {
		t.Errorf("Placed() = %v, %v", packages, err)
	}
	items[2].Done = true
	if packages, err := Placed(items); err != nil || !slices.Equal(packages, []software.Unpacked{{Name: "cri-o"}}) {
		t.Errorf("Placed() = %v, %v after a complete run", packages, err)
	}
	want := []string{
		"link /usr/bin/crio: link to " + dir + "/usr/bin/crio",
		"link /usr/bin/crio-link: link to crio",
		"file /usr/lib/systemd/system/crio.service: 7 bytes, sha256 ae6c63cff33b, mode 0644",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
