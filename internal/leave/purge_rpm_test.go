// SPDX-License-Identifier: Apache-2.0

//go:build rpm

package leave

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
	"github.com/hcp-node-agent/hcp-node-agent/internal/machine"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/software"
	"github.com/hcp-node-agent/hcp-node-agent/test/flowtest"
	"github.com/hcp-node-agent/hcp-node-agent/test/rpms"
)

// A leave that was killed after the undo must still remove the packages, which the ledger no longer
// contains.
func TestPurgeOfPackagesResumes(t *testing.T) {
	b := rpms.New(t)
	key := b.GenerateKey("mirror")
	b.Build("site", "cri-o-1.31.4-1.el9", "conmon-2-1.el9")
	b.Sign("site", "mirror")
	b.AddRepository("site", "enabled=1", "gpgkey=file://"+key)
	flowtest.NoError(t, software.Install(t.Context(), b.Root, report.Log{}, "conmon"))
	on := &software.Transactions{Host: b.Root}
	dir := t.TempDir()
	book, err := ledger.Open(
		dir, ledger.Drivers{Snapshots: map[ledger.Kind]ledger.SnapshotDriver{software.TransactionKind: on}},
	)
	flowtest.NoError(t, err)
	defer book.Close()
	change, err := on.Change(t.Context(), []string{"cri-o"})
	flowtest.NoError(t, err)
	_, err = book.TrackExternal(t.Context(), "packages", change) // killed before the end of the installation
	flowtest.NoError(t, err)
	flowtest.NoError(t, software.Install(t.Context(), b.Root, report.Log{}, "cri-o"))

	f := &Flow{Machine: &machine.Machine{Ledger: book}, Dir: dir, Purge: true, PackageHost: b.Root}
	var preview PreviewDocument
	flowtest.NoError(t, f.previewPurge(t.Context(), &preview))
	if diff := cmp.Diff([]string{"cri-o"}, preview.Packages); diff != "" {
		t.Errorf("preview (-want +got):\n%s", diff)
	}
	flowtest.NoError(t, f.recordPurge())
	_, err = book.Undo(t.Context())
	flowtest.NoError(t, err)

	flowtest.NoError(t, f.recordPurge())
	var document Document
	_, err = purgePackages(&document)(t.Context(), f, report.Log{})
	flowtest.NoError(t, err)
	if diff := cmp.Diff([]string{"cri-o"}, document.RemovedPackages); diff != "" {
		t.Errorf("removed (-want +got):\n%s", diff)
	}
	installed, err := b.Root.Installed(t.Context())
	flowtest.NoError(t, err)
	for _, p := range installed {
		if p.Name == "cri-o" {
			t.Error("cri-o is still installed")
		}
	}
}
