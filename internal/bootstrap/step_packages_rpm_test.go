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
	"github.com/hcp-node-agent/hcp-node-agent/internal/request"
	"github.com/hcp-node-agent/hcp-node-agent/internal/software"
	"github.com/hcp-node-agent/hcp-node-agent/test/flowtest"
	"github.com/hcp-node-agent/hcp-node-agent/test/rpms"
)

// A join without --install-packages must be refused with the install command before
// any change.
func TestPackagesAreRefused(t *testing.T) {
	b := rpms.New(t)
	key := b.GenerateKey("mirror")
	b.Build(
		"site", "openshift-kubelet-4.18.7-1.el9", "cri-o-1.31.4-1.el9", "conmon-2-1.el9", "crun-1-1.el9",
		"container-selinux-2-1.el9",
		"openvswitch3.5-3.5.0-1.el9fdp", "NetworkManager-ovs-1.48.0-1.el9")
	b.Sign("site", "mirror")
	b.AddRepository("site", "enabled=1", "gpgkey=file://"+key)

	book, err := ledger.Open(t.TempDir(), ledger.Drivers{
		Snapshots: map[ledger.Kind]ledger.SnapshotDriver{
			software.TransactionKind: &software.Transactions{Host: b.Root},
		},
	})
	flowtest.NoError(t, err)
	defer book.Close()
	run := plan.Run{Request: request.Request{Config: config.Join{OpenShiftRelease: "4.18"}}}
	operation := NewFlow(run, &machine.Machine{
		Ledger: book,
		Facts:  hostinfo.Facts{OS: hostinfo.OSRelease{ID: "rhel", Version: "9.4"}, Arch: "amd64"},
	})
	operation.Session.PackageHost = b.Root
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
}
