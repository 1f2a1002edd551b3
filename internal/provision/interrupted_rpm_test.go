// SPDX-License-Identifier: Apache-2.0

//go:build rpm

package provision

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/software"
	"github.com/hcp-node-agent/hcp-node-agent/internal/steps"
	"github.com/hcp-node-agent/hcp-node-agent/test/rpms"
)

// A power failure can leave files empty of packages that rpm lists as installed. The next run installs these packages
// again, once, and no others.
func TestInterruptedInstallationIsRepaired(t *testing.T) {
	b := rpms.New(t)
	key := b.GenerateKey("mirror")
	const install = "%install\nmkdir -p %{buildroot}/usr/bin\necho content >%{buildroot}/usr/bin/%{name}\n"
	b.Script = "/usr/bin/%{name}\n" + install
	b.Build("site", "conmon-2-1.el9", "crun-1-1.el9", "existing-1-1.el9")
	b.Sign("site", "mirror")
	b.AddRepository("site", "enabled=1", "gpgkey=file://"+key)
	if err := software.Install(t.Context(), b.Root, report.Log{}, "existing"); err != nil {
		t.Fatal(err)
	}
	p := packagesOnBench(t, b, installing)
	change, err := (&software.Transactions{Host: b.Root}).Change(t.Context(), []string{"conmon", "crun"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Host.Ledger.TrackExternal(t.Context(), steps.Packages, change); err != nil {
		t.Fatal(err)
	}
	if err := software.Install(t.Context(), b.Root, report.Log{}, "conmon", "crun"); err != nil {
		t.Fatal(err)
	}
	program := func(name string) string { return filepath.Join(b.Root.Root, "usr/bin", name) }
	for _, name := range []string{"conmon", "existing"} {
		if err := os.Truncate(program(name), 0); err != nil {
			t.Fatal(err)
		}
	}
	repaired, err := p.RepairInterrupted(t.Context(), report.Log{})
	if err != nil {
		t.Fatal(err)
	}
	again, err := p.RepairInterrupted(t.Context(), report.Log{})
	if diff := cmp.Diff([]string{"conmon-2-1.el9.noarch"}, repaired); diff != "" || err != nil || len(again) > 0 {
		t.Errorf("repaired again %v, %v; repaired (-want +got):\n%s", again, err, diff)
	}
	repairedContent, err := os.ReadFile(program("conmon"))
	existing, existingErr := os.ReadFile(program("existing"))
	if string(repairedContent) != "content\n" || len(existing) > 0 || errors.Join(err, existingErr) != nil {
		t.Errorf("contents %q and %q, %v, %v", repairedContent, existing, err, existingErr)
	}
}
