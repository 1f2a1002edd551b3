// SPDX-License-Identifier: Apache-2.0

//go:build rpm

package bootstrap

import (
	"strings"
	"testing"

	"github.com/hcp-node-agent/hcp-node-agent/internal/config"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostinfo"
	"github.com/hcp-node-agent/hcp-node-agent/internal/kube"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
	"github.com/hcp-node-agent/hcp-node-agent/internal/machine"
	"github.com/hcp-node-agent/hcp-node-agent/internal/plan"
	"github.com/hcp-node-agent/hcp-node-agent/internal/preflight"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/software"
	"github.com/hcp-node-agent/hcp-node-agent/test/rpms"
)

// joinOnBench returns a join on a RHEL 9 host that has the packages of the bench.
func joinOnBench(t *testing.T, b *rpms.Environment, install bool) *Flow {
	t.Helper()
	on := &software.Transactions{Host: b.Root}
	book, err := ledger.Open(t.TempDir(), ledger.Drivers{
		Snapshots: map[ledger.Kind]ledger.SnapshotDriver{software.TransactionKind: on},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { book.Close() })
	j := NewFlow(plan.Run{Config: config.Join{OpenShiftRelease: "4.18", InstallPackages: install}}, &machine.Machine{
		Ledger: book,
		Facts:  hostinfo.Facts{OS: hostinfo.OSRelease{ID: "rhel", Version: "9.4"}, Arch: "amd64"},
	})
	j.Session.PackageHost = b.Root
	return j
}

// A join without --install-packages must be refused with the install command before
// any change. With it the join installs the packages, and leave prints the command
// that removes them.
func TestPackagesAreRefusedThenInstalledThenListedByLeave(t *testing.T) {
	b := rpms.New(t)
	key := b.GenerateKey("mirror")
	b.Build(
		"site", "openshift-kubelet-4.18.7-1.el9", "cri-o-1.31.4-1.el9", "conmon-2-1.el9", "crun-1-1.el9",
		"container-selinux-2-1.el9",
		"openvswitch3.5-3.5.0-1.el9fdp", "NetworkManager-ovs-1.48.0-1.el9")
	b.Sign("site", "mirror")
	b.AddRepository("site", "enabled=1", "gpgkey=file://"+key)

	operation := joinOnBench(t, b, false)
	decision, err := operation.Software.Decide(t.Context(), nil, kube.Version{})
	refused := decision.Err()
	if err != nil || report.CodeOf(refused) != report.Refused || !strings.Contains(
		string(report.RemedyOf(refused)), "dnf install 'openshift-kubelet-4.18.*' 'cri-o-1.31.*' conmon crun",
	) {
		t.Fatalf("%v; %v\n%s", err, refused, report.RemedyOf(refused))
	}
	findings := preflight.Run(preflight.SoftwareChecks(), preflight.PayloadFacts{Packages: refused})
	if report.CodeOf(findings.Err()) != report.Refused || findings.Err().Error() != refused.Error() {
		t.Errorf("the checks return %v", findings.Err())
	}
	if _, err := ensurePackages(t.Context(), operation, report.Log{}); err == nil || err.Error() != refused.Error() {
		t.Errorf("the step returns %v", err)
	}
	if items := operation.Host.Ledger.Items(); len(items) > 0 {
		t.Errorf("something was changed: %v", items)
	}

	j := joinOnBench(t, b, true)
	if decision, err = j.SoftwareDecision(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := j.InstallPackages(t.Context(), report.Log{}, decision.Specs()); err != nil {
		t.Fatal(err)
	}
	again := joinOnBench(t, b, false)
	if after, err := again.SoftwareDecision(t.Context()); err != nil || len(after.With(software.Present)) != 7 {
		t.Errorf("after it: %v, %+v", err, after)
	}
	outcome, err := j.Host.Ledger.Undo(t.Context())
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
	j := joinOnBench(t, b, true)
	err := j.InstallPackages(t.Context(), report.Log{}, []string{"cri-o"})
	if report.CodeOf(err) != report.Refused || !strings.Contains(err.Error(), "is not signed") {
		t.Errorf("%v", err)
	}
	outcome, err := j.Host.Ledger.Undo(t.Context())
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
