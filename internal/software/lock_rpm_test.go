// SPDX-License-Identifier: Apache-2.0

//go:build rpm

package software

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/dnf"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostfs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/test/rpms"
)

// dnf's own parser, which versionlock uses, must find the installed version of a package by its lock, and no
// other version.
func TestRealLockMatchesOneVersion(t *testing.T) {
	b := rpms.New(t)
	if dnf.IsDNF5() {
		t.Skip("dnf5 has locks of another format: TestRealLocks5")
	}
	key := b.GenerateKey("mirror")
	b.Build("site", "cri-o-1.31.4-2.rhaos4.18.el9", "cri-o-1.31.4-3.rhaos4.18.el9", "cri-o-1.31.5-1.rhaos4.18.el9")
	b.Sign("site", "mirror")
	b.AddRepository("site", "enabled=1", "gpgkey=file://"+key)
	if err := Install(t.Context(), b.Root, report.Log{}, "cri-o-1.31.4-2*"); err != nil {
		t.Fatal(err)
	}
	installed, err := b.Root.Installed(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	changes := lockChanges(readTable(t), installed, lockEntry)
	if len(changes) != 1 || changes[0].Target != "cri-o" {
		t.Fatalf("changes %+v", changes)
	}
	found, err := b.Root.Available(t.Context(), false, changes[0].Desired.Names...)
	if err != nil || len(found) != 1 || found[0].Release != "2.rhaos4.18.el9" {
		t.Errorf("the lock %q matches %v, %v", changes[0].Desired.Value, found, err)
	}
}

// The locks keep dnf5 update from replacing the packages of the release. The agent installs other versions
// nevertheless, but no package that the administrator excludes. dnf5 can read and change the list, and an undo
// keeps what the administrator added.
func TestRealLocks5(t *testing.T) {
	b := rpms.New(t)
	if !dnf.IsDNF5() {
		t.Skip("dnf 4 has locks of another format: TestRealLockMatchesOneVersion")
	}
	key := b.GenerateKey("mirror")
	b.Build("site", "cri-o-1.31.4-2.rhaos4.18.el9", "crun-1.16-1.el9", "bash-5.1-1.el9")
	b.Sign("site", "mirror")
	b.AddRepository("site", "enabled=1", "gpgkey=file://"+key, "excludepkgs=cri-o-1.32.9*")
	if err := Install(t.Context(), b.Root, report.Log{}, "cri-o", "crun", "bash"); err != nil {
		t.Fatal(err)
	}
	changes, err := LockChanges(t.Context(), b.Root)
	if err != nil || len(changes) != 1 {
		t.Fatalf("%+v, %v", changes, err)
	}
	tree, err := hostfs.OpenTree(b.Root.Root)
	if err != nil {
		t.Fatal(err)
	}
	defer tree.Close()
	l, err := ledger.Open(t.TempDir(),
		ledger.Drivers{Resources: map[ledger.Kind]ledger.Driver{LockKind: &Locks{Tree: tree, Host: b.Root}}})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if _, err := l.Apply(t.Context(), "system", changes); err != nil {
		t.Fatal(err)
	}
	administrator := func(args ...string) string {
		t.Helper()
		return b.Run("dnf", append([]string{"--installroot", b.Root.Root, "--releasever", "9", "versionlock"}, args...)...)
	}
	administrator("add", "bash")

	b.Build("site", "cri-o-1.31.5-1.rhaos4.18.el9", "cri-o-1.32.1-1.rhaos4.19.el9", "cri-o-1.32.9-1.rhaos4.19.el9",
		"crun-1.17-1.el9", "bash-5.2-1.el9")
	b.Sign("site", "mirror")
	b.UpdateRepository("site")
	updates, err := b.Root.Updates(t.Context())
	if diff := cmp.Diff([]string{"crun-1.17"}, packageNames(updates)); diff != "" || err != nil {
		t.Errorf("updates: %v (-want +got):\n%s", err, diff)
	}
	if err := Install(t.Context(), b.Root, report.Log{}, "cri-o-1.32.*"); err != nil {
		t.Error(err)
	}
	installed, err := b.Root.Installed(t.Context(), "cri-o", "bash")
	if diff := cmp.Diff([]string{"bash-5.1", "cri-o-1.32.1"}, packageNames(installed)); diff != "" || err != nil {
		t.Errorf("installed: %v (-want +got):\n%s", err, diff)
	}
	if drift, err := l.Drift(t.Context()); err != nil || len(drift) > 0 {
		t.Errorf("drift %v, %v", drift, err)
	}
	list := func() string {
		content, _ := os.ReadFile(filepath.Join(b.Root.Root, dnf.LockFile5))
		return string(content)
	}
	both := list()
	if _, err := l.Undo(t.Context()); err != nil {
		t.Fatal(err)
	}
	if entries, err := locksOf5(list(), "bash"); err != nil || len(entries) != 1 || len(list()) >= len(both) {
		t.Errorf("after the undo %q, %v", list(), err)
	}

	administrator("clear") // dnf5 writes a list without entries
	if _, err := l.Apply(t.Context(), "system", changes); err != nil {
		t.Fatal(err)
	}
	t.Log(administrator("list"))
	if _, err := l.Undo(t.Context()); err != nil || list() != "" {
		t.Errorf("after the second undo: %v, %q", err, list())
	}
}
