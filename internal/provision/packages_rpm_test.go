// SPDX-License-Identifier: Apache-2.0

//go:build rpm

package provision

import (
	"strings"
	"testing"

	"github.com/hcp-node-agent/hcp-node-agent/internal/config"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostinfo"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
	"github.com/hcp-node-agent/hcp-node-agent/internal/machine"
	"github.com/hcp-node-agent/hcp-node-agent/internal/plan"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/request"
	"github.com/hcp-node-agent/hcp-node-agent/internal/software"
	"github.com/hcp-node-agent/hcp-node-agent/test/rpms"
)

// installing is a join that may install packages.
var installing = plan.Run{
	Request: request.Request{Config: config.Join{OpenShiftRelease: "4.18", InstallPackages: true}},
}

// packagesOnBench returns the packages of a run on a RHEL 9 host that has the packages of the bench.
func packagesOnBench(t *testing.T, b *rpms.Environment, run plan.Run) Packages {
	t.Helper()
	on := &software.Transactions{Host: b.Root}
	book, err := ledger.Open(t.TempDir(), ledger.Drivers{
		Snapshots: map[ledger.Kind]ledger.SnapshotDriver{software.TransactionKind: on},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { book.Close() })
	m := &machine.Machine{
		Ledger: book,
		Facts:  hostinfo.Facts{OS: hostinfo.OSRelease{ID: "rhel", Version: "9.4"}, Arch: "amd64"},
	}
	session := &plan.Session{Run: &run, Host: m.Reader(), PackageHost: b.Root}
	return Packages{Run: &run, Host: m, Software: plan.NewSoftware(session, nil), DNF: session.DNF(nil)}
}

// A join with --install-packages installs the packages, and leave prints the command
// that removes them.
func TestPackagesAreInstalledThenListedByLeave(t *testing.T) {
	b := rpms.New(t)
	key := b.GenerateKey("mirror")
	b.Build(
		"site", "openshift-kubelet-4.18.7-1.el9", "cri-o-1.31.4-1.el9", "conmon-2-1.el9", "crun-1-1.el9",
		"container-selinux-2-1.el9",
		"openvswitch3.5-3.5.0-1.el9fdp", "NetworkManager-ovs-1.48.0-1.el9")
	b.Sign("site", "mirror")
	b.AddRepository("site", "enabled=1", "gpgkey=file://"+key)

	p := packagesOnBench(t, b, installing)
	decision, err := p.Software.Decision(t.Context(), nil, plan.Validation{})
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Install(t.Context(), report.Log{}, decision.Specs()); err != nil {
		t.Fatal(err)
	}
	again := packagesOnBench(t, b, plan.Run{Request: request.Request{Config: config.Join{OpenShiftRelease: "4.18"}}})
	after, err := again.Software.Decision(t.Context(), nil, plan.Validation{})
	if err != nil || len(after.With(software.Present)) != 7 {
		t.Errorf("after it: %v, %+v", err, after)
	}
	outcome, err := p.Host.Ledger.Undo(t.Context())
	if err != nil || len(outcome.Kept) > 0 {
		t.Fatalf("%v; kept %v", err, outcome.Kept)
	}
	texts := removalHints(outcome.Restored)
	if len(texts) != 1 || !strings.Contains(
		texts[0], "openshift-kubelet-4.18.*",
	) || !strings.Contains(texts[0], `"dnf history undo 1"`) {
		t.Errorf("leave prints %q", texts)
	}
}

// If dnf rejects the packages, leave must not list them.
func TestPackagesThatAreRefusedAreNotRecordedAsInstalled(t *testing.T) {
	b := rpms.New(t)
	b.Build("site", "cri-o-1.31.4-1.el9")
	b.AddRepository("site", "enabled=1", "gpgcheck=0", "gpgkey=file://"+b.GenerateKey("mirror"))
	p := packagesOnBench(t, b, installing)
	err := p.Install(t.Context(), report.Log{}, []string{"cri-o"})
	if report.CodeOf(err) != report.Refused || !strings.Contains(err.Error(), "is not signed") {
		t.Errorf("%v", err)
	}
	outcome, err := p.Host.Ledger.Undo(t.Context())
	if texts := removalHints(outcome.Restored); err != nil || len(texts) > 0 {
		t.Errorf("%v; leave prints %q", err, texts)
	}
}

// removalHints returns the messages of a leave about installed packages.
func removalHints(items []ledger.Item) []string {
	var texts []string
	for _, item := range items {
		if text := software.RemovalHint(item); item.Kind == software.TransactionKind && text != "" {
			texts = append(texts, text)
		}
	}
	return texts
}
