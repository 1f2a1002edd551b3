// SPDX-License-Identifier: Apache-2.0

//go:build vm

package e2e

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hcp-node-agent/hcp-node-agent/internal/maintenance"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/test/rpms"
	"github.com/hcp-node-agent/hcp-node-agent/test/testenv"
)

// TestMaintenance updates the packages of a joined node with the real dnf. The power is cut when the update
// is complete and the host reboots for it, and the service completes the maintenance. With THOROUGH=1, the
// agent is also killed at each step.
//
// The machine has Debian's rpm and a kernel that QEMU loads, so that its packages are empty stand-ins. For
// a reboot, the package of NetworkManager has another version than the running one, before and after the
// reboot. The agent must reboot once and report that the version is still not running.
func TestMaintenance(t *testing.T) {
	ctx := newContext(t)
	repository := &siteRepository{env: rpms.New(t)}
	repository.add(ctx, t, "of-the-administrator-1-1", "cri-o-1.34.0-2.rhaos4.21.el9")
	mustOutput(ctx, t, "dnf -y install of-the-administrator cri-o")
	runAgent(ctx, t, report.Success, joinCommand)

	checkContains(t, runAgent(ctx, t, report.Success, "maintenance").Stdout, "is up to date, there is nothing to do")
	if isCordoned(ctx, t) {
		t.Error("a maintenance without work has cordoned the node")
	}

	// An update without a reboot of a node that the administrator has cordoned.
	repository.add(ctx, t, "of-the-administrator-2-1", "cri-o-1.34.1-1.rhaos4.21.el9")
	setCordon(ctx, t, true)
	done := runAgent(ctx, t, report.Success, "maintenance")
	checkContains(t, done.Stdout, "1 package to install: of-the-administrator-2-1.noarch", "no update requires a reboot",
		"remains cordoned", "pods could not run for ")
	if !isCordoned(ctx, t) {
		t.Error("the cordon of the administrator is removed")
	}
	setCordon(ctx, t, false)
	checkInstalled(ctx, t, "of-the-administrator-2-1.noarch")

	_, err := environment.RunPod(ctx, "of-a-user")
	must(t, err)
	repository.add(ctx, t, "of-the-administrator-3-1", "NetworkManager-99.0-1.el9")
	mustOutput(ctx, t, "dnf -y install NetworkManager")
	lost := runAgent(ctx, t, report.Refused, "maintenance")
	checkContains(t, lost.Stdout+lost.Stderr, "these pods would be lost")
	must(t, environment.DeletePods(ctx))

	killMaintenance(ctx, t)
	runUntilOutput(ctx, t, "hcp-node-agent maintenance",
		"rebooting the host to run the installed update of NetworkManager", func() { must(t, environment.Machine.Kill(ctx)) })
	must(t, environment.Machine.Boot(ctx))
	must(t, environment.Machine.WaitSSH(ctx))
	await(ctx, t, "journalctl -b -u hcp-node-agent -o cat | grep 'the maintenance of "+testenv.NodeName+" is complete'")
	journal := mustOutput(ctx, t, "journalctl -b --no-pager -o cat -u hcp-node-agent")
	t.Log(journal)
	checkContains(t, journal, "resuming the maintenance of "+testenv.NodeName, "the host was rebooted",
		"after the reboot, an update of NetworkManager is installed", "uncordoning the Node after the maintenance")
	awaitReadyNode(ctx, t)
	if isCordoned(ctx, t) {
		t.Error("the node is still cordoned")
	}
	checkInstalled(ctx, t, "of-the-administrator-3-1.noarch")
	_, err = environment.RunPod(ctx, "after-the-maintenance")
	must(t, err)
	runAgent(ctx, t, report.Success, "status")
}

// killMaintenance kills the maintenance with THOROUGH=1 at each step up to the update, and checks that other
// commands refer to it. The later steps are those of the reboot.
func killMaintenance(ctx context.Context, t *testing.T) {
	t.Helper()
	if os.Getenv("THOROUGH") == "" {
		return
	}
	mustOutput(ctx, t, "systemctl stop hcp-node-agent") // it resumes an interrupted maintenance
	for _, step := range maintenance.Steps() {
		out := runUntilOutput(ctx, t, "hcp-node-agent maintenance", testenv.StepLine(step.Name), func() {
			mustOutput(ctx, t, "pkill -KILL -f '^hcp-node-agent maintenance'")
		})
		t.Logf("killed at %s:\n%s", step.Name, out)
		if step.Name == "update" {
			break
		}
	}
	checkContains(t, runAgent(ctx, t, report.Failed, "status").Stdout, "the maintenance has not finished")
	refused := runAgent(ctx, t, report.Refused, "join")
	checkContains(t, refused.Stdout+refused.Stderr, "# resumes the maintenance")
	mustOutput(ctx, t, "until ! pgrep -x dnf; do sleep 1; done") // dnf completes its transaction without the agent
}

// siteRepository is a signed repository of stand-in packages on the machine.
type siteRepository struct{ env *rpms.Environment }

// add adds packages, each NAME-VERSION-RELEASE.
func (r *siteRepository) add(ctx context.Context, t *testing.T, nvrs ...string) {
	t.Helper()
	dir := filepath.Join(r.env.Dir, "site")
	r.env.Build("site", nvrs...)
	if _, err := os.Stat(filepath.Join(dir, "KEY")); os.IsNotExist(err) {
		content, err := os.ReadFile(r.env.GenerateKey("site"))
		must(t, err)
		must(t, os.WriteFile(filepath.Join(dir, "KEY"), content, 0o600))
	}
	r.env.Sign("site", "site")
	r.env.Run("createrepo_c", "--quiet", dir)
	var packed bytes.Buffer
	packDirectory(t, &packed, dir)
	must(t, environment.Machine.Put(ctx, "/root/site.tar", &packed, 0o600))
	mustOutput(ctx, t,
		`rm -rf /srv/site && mkdir /srv/site && tar -C /srv/site -xf /root/site.tar --no-same-owner && rm /root/site.tar
		mkdir -p /etc/yum.repos.d
		printf '[site]\nname=site\nbaseurl=file:///srv/site\ngpgcheck=1\ngpgkey=file:///srv/site/KEY\nmetadata_expire=0\n' \
			>/etc/yum.repos.d/site.repo`)
}

// checkInstalled fails the test unless the package is installed, and CRI-O has the locked version.
func checkInstalled(ctx context.Context, t *testing.T, name string) {
	t.Helper()
	if got := strings.Fields(mustOutput(ctx, t, "rpm -q of-the-administrator cri-o")); len(got) != 2 || got[0] != name ||
		got[1] != "cri-o-1.34.0-2.rhaos4.21.el9.noarch" {
		t.Errorf("packages %q, want %s and the locked version of cri-o", got, name)
	}
}

func isCordoned(ctx context.Context, t *testing.T) bool {
	t.Helper()
	node, err := environment.Client.CoreV1().Nodes().Get(ctx, testenv.NodeName, metav1.GetOptions{})
	must(t, err)
	return node.Spec.Unschedulable
}

// setCordon cordons or uncordons the node as an administrator does.
func setCordon(ctx context.Context, t *testing.T, unschedulable bool) {
	t.Helper()
	patch := fmt.Sprintf(`{"spec":{"unschedulable":%t}}`, unschedulable)
	_, err := environment.Client.CoreV1().Nodes().Patch(ctx, testenv.NodeName, "application/merge-patch+json",
		[]byte(patch), metav1.PatchOptions{})
	must(t, err)
}
