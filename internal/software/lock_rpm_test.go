// SPDX-License-Identifier: Apache-2.0

//go:build rpm

package software

import (
	"testing"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/test/rpms"
)

// dnf's own parser, which versionlock uses, must find the installed version of a package by its lock, and no
// other version.
func TestRealLockMatchesOneVersion(t *testing.T) {
	b := rpms.New(t)
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
	changes := lockChanges(readTable(t), installed)
	if len(changes) != 1 || changes[0].Target != "cri-o" {
		t.Fatalf("changes %+v", changes)
	}
	found, err := b.Root.Available(t.Context(), false, changes[0].Desired.Names...)
	if err != nil || len(found) != 1 || found[0].Release != "2.rhaos4.18.el9" {
		t.Errorf("the lock %q matches %v, %v", changes[0].Desired.Value, found, err)
	}
}
