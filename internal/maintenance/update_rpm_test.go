// SPDX-License-Identifier: Apache-2.0

//go:build rpm

package maintenance

import (
	"strings"
	"testing"

	"github.com/hcp-node-agent/hcp-node-agent/internal/joinstate"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/software"
	"github.com/hcp-node-agent/hcp-node-agent/test/flowtest"
	"github.com/hcp-node-agent/hcp-node-agent/test/rpms"
)

// An update with the real dnf. A failure before the transaction leaves the host unchanged. A failed
// scriptlet does not, and a resumed maintenance updates the rest.
func TestUpdateAndItsFailures(t *testing.T) {
	b := rpms.New(t)
	key := b.GenerateKey("site")
	build := func(nvr, script string) {
		b.Script = script
		b.Build("site", nvr)
		b.Sign("site", "site")
		b.UpdateRepository("site")
	}
	b.Build("site", "cri-o-1.31.4-1.el9", "bash-1-1.el9")
	build("glibc-1-1.el9", "")
	b.ConfigureRepository("site", "baseurl=file://"+b.Dir+"/site", "enabled=1", "gpgkey=file://"+key)
	flowtest.NoError(t, software.Install(t.Context(), b.Root, report.Log{}, "bash", "glibc", "cri-o"))
	updater, err := software.NewUpdater(t.Context(), b.Root)
	flowtest.NoError(t, err)
	f := &flow{dir: t.TempDir(), updater: updater, record: &joinstate.Maintenance{Update: true, Transaction: "1"}}
	changed := func() bool {
		t.Helper()
		last, err := f.lastTransaction(t.Context())
		flowtest.NoError(t, err)
		return hasChangedHost(*f.record, last)
	}

	b.Build("site", "cri-o-1.31.5-1.el9")
	build("bash-2-1.el9", "")
	list, err := updater.List(t.Context(), report.Log{})
	if err != nil || len(list) != 1 {
		t.Fatalf("updates %v, %v", list, err)
	}
	b.Run("rm", "-r", b.Dir+"/site/noarch") // metadata without packages
	if _, err := update(t.Context(), f, report.Log{}); err == nil || changed() || report.RemedyOf(err) == "" {
		t.Errorf("without packages: %v (remedy %q), the host is changed: %t", err, report.RemedyOf(err), changed())
	}

	b.Build("site", "bash-2-1.el9", "cri-o-1.31.5-1.el9")
	build("glibc-2-1.el9", "%pre -p <lua>\nerror('fails')\n")
	_, err = download(t.Context(), f, report.Log{})
	flowtest.NoError(t, err)
	if _, err := update(t.Context(), f, report.Log{}); err == nil || !changed() ||
		!strings.Contains(string(report.RemedyOf(err)), "dnf update") {
		t.Errorf("with a scriptlet that fails: %v (remedy %q), the host is changed: %t", err, report.RemedyOf(err), changed())
	}

	build("glibc-2-2.el9", "")
	_, err = download(t.Context(), f, report.Log{}) // as each run does before the update
	flowtest.NoError(t, err)
	outcome, err := update(t.Context(), f, report.Log{})
	if err != nil || !outcome.Changed || !f.record.Updated || !strings.Contains(outcome.Summary, "dnf history info 3") {
		t.Errorf("resumed: %+v, %v", outcome, err)
	}
	for name, want := range map[string]string{"bash": "2", "glibc": "2", "cri-o": "1.31.4"} {
		if found, err := b.Root.Installed(t.Context(), name); err != nil || len(found) != 1 || found[0].Version != want {
			t.Errorf("%s: %v, %v", name, found, err)
		}
	}
	if outcome, err := update(t.Context(), f, report.Log{}); err != nil || outcome.Changed {
		t.Errorf("again: %+v, %v", outcome, err)
	}
}
