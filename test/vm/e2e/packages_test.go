// SPDX-License-Identifier: Apache-2.0

//go:build vm

package e2e

import (
	"archive/tar"
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/test/nodeimage"
	"github.com/hcp-node-agent/hcp-node-agent/test/rpms"
	"github.com/hcp-node-agent/hcp-node-agent/test/testenv"
)

// TestPackagesAtFirstBoot boots a machine without the agent, kubelet and CRI-O, and with another name, with a seed disk
// as a cloud provides it. Its only input is the file that hcp-node-admin has written: the machine registers, dnf
// installs the agent, which installs the packages of the payload's release from a signed repository, and the controller
// approves its CSRs. Then the agent upgrades them to those of another release, with a reboot for kernel arguments, and
// back. leave --purge removes them.
func TestPackagesAtFirstBoot(t *testing.T) {
	ctx := newContext(t)
	mustOutput(ctx, t, "update-grub") // as the installation of a host does
	removeAgent(ctx, t)
	repository := &releaseRepository{env: rpms.New(t), source: nodeimage.MoveFiles(ctx, t, environment.Machine)}
	repository.add(ctx, t, nodeimage.FirstRelease)
	addSubscriptionManager(ctx, t)
	userData, err := environment.ControlPlane.CurrentUserData(ctx)
	must(t, err)
	mustOutput(ctx, t, "echo unnamed.example.com >/etc/hostname") // takes effect at the next boot
	const settings = "subscription:\n  organization: example\n  activationKey: workers\n  repositories: " +
		"[rhocp-4.21-for-rhel-9-x86_64-rpms, fast-datapath-for-rhel-9-x86_64-rpms]\nsettings: {installPackages: true}\n"
	bootWithSeed(ctx, t, map[string]string{
		"meta-data": "instance-id: packages\n",
		"user-data": enrolledFile(ctx, t, uplinkAddress(ctx, t), "cloud-init", ".cloud-init.yaml", userData, settings),
	})
	awaitReadyNode(ctx, t)
	checkContains(t, mustOutput(ctx, t, "subscription-manager repos --list-enabled; cloud-init status --wait --long; "+
		"journalctl -b -t cloud-init -o cat; stat -c '%a %n' /etc/yum.repos.d/hcp-node-agent.repo"),
		"rhocp-4.21-for-rhel-9-x86_64-rpms", "The system has been registered with ID", "status: done",
		"644 /etc/yum.repos.d/hcp-node-agent.repo")
	mustOutput(ctx, t, "dnf -y install of-the-administrator")
	await(ctx, t, "systemctl is-active hcp-node-agent")
	t.Log(mustOutput(ctx, t, "journalctl -b --no-pager -o cat -u hcp-node-agent"))
	checkContains(t, mustOutput(ctx, t, "rpm -q openshift-kubelet cri-o container-selinux NetworkManager-ovs"),
		"openshift-kubelet-4.21.0-202510291212.p0.el9", "cri-o-1.34.0-2.rhaos4.21.el9")
	_, err = environment.RunPod(ctx, "with-packages")
	must(t, err)
	runAgent(ctx, t, report.Success, "status")

	must(t, environment.DeletePods(ctx))
	upgradePackages(ctx, t, repository)
	preview := runAgent(ctx, t, report.Success, "leave --purge --dry-run")
	checkContains(t, preview.Stdout, "drain the node", "images to remove", "packages to remove", "openshift-kubelet")
	mustOutput(ctx, t, "rpm -q openshift-kubelet && systemctl is-active kubelet")
	left := runAgent(ctx, t, report.Success, "leave --purge")
	checkContains(t, left.Stdout, "removed images:", "removed packages:", "container-selinux")
	remains := mustOutput(ctx, t,
		`rpm -q openshift-kubelet cri-o container-selinux NetworkManager-ovs crun | grep -vc 'is not installed'
		ls /usr/bin/kubelet /usr/bin/crio 2>/dev/null; cat /var/lib/containers/storage/overlay-images/images.json
		rpm -q of-the-administrator; cat /var/lib/containers/storage/mine`)
	if remains != "0\n[]of-the-administrator-1-1.noarch\nmine" {
		t.Errorf("after leave --purge: %q", remains)
	}
}

// upgradePackages upgrades the node to the packages of another release, and sets kernel arguments. The
// agent drains and reboots the host, and the service completes the upgrade after the boot. Then it rolls
// back the packages.
func upgradePackages(ctx context.Context, t *testing.T, repository *releaseRepository) {
	t.Helper()
	repository.add(ctx, t, nodeimage.NextRelease)
	payload := servedPayload(t)
	must(t, payload.SetOSImage(nodeimage.Push(t, environment.ControlPlane, repository.source, nodeimage.NextRelease)))
	serve(ctx, t, payload)
	checkContains(t, runAgent(ctx, t, report.Success,
		"plan --user-data "+testenv.UserDataPath+" --apply-host-settings").Stdout,
		"Upgrade (the node is drained)", "reboot after a drain: boot loader",
		"restart kubelet.service after a drain: openshift-kubelet")
	must(t, environment.Machine.RebootByGRUB(ctx, func() error {
		out := runUntilOutput(ctx, t, "hcp-node-agent "+upgradeCommand+" --apply-host-settings=reboot",
			"rebooting the host with the kernel arguments", func() {})
		t.Logf("upgrade:\n%s", out)
		return nil
	}))
	must(t, environment.Machine.WaitSSH(ctx))
	await(ctx, t, "journalctl -b -u hcp-node-agent -o cat | grep '"+testenv.NodeName+" is upgraded'")
	t.Log(mustOutput(ctx, t, "journalctl -b --no-pager -o cat -u hcp-node-agent"))
	awaitReadyNode(ctx, t)
	if !hasArgument(ctx, t) {
		t.Error("the host was not booted with the kernel argument")
	}
	checkPackages(ctx, t, nodeimage.NextRelease)
	checkContains(t, runAgent(ctx, t, report.Success, "upgrade --rollback").Stdout, testenv.NodeName+" is rolled back")
	checkPackages(ctx, t, nodeimage.FirstRelease)
	awaitReadyNode(ctx, t)
}

// checkPackages fails the test unless the packages of a release are installed, and the node has no drift.
func checkPackages(ctx context.Context, t *testing.T, versions map[string]string) {
	t.Helper()
	checkContains(t, mustOutput(ctx, t, "rpm -q openshift-kubelet cri-o"),
		"openshift-kubelet-"+versions["openshift-kubelet"], "cri-o-"+versions["cri-o"])
	runAgent(ctx, t, report.Success, "status")
}

// addSubscriptionManager copies a stand-in of RHEL's program, which enables the release repository.
func addSubscriptionManager(ctx context.Context, t *testing.T) {
	t.Helper()
	program, err := os.Open("testdata/subscription-manager")
	must(t, err)
	defer program.Close()
	must(t, environment.Machine.Put(ctx, "/usr/bin/subscription-manager", program, 0o755))
}

// releaseRepository is a repository of packages on the machine, which then looks like RHEL 9 to the agent.
// The machine has the other programs of a node already.
type releaseRepository struct {
	env    *rpms.Environment
	source string // directory with the machine's kubelet and CRI-O
}

// add adds packages of kubelet and CRI-O with other versions.
func (r *releaseRepository) add(ctx context.Context, t *testing.T, versions map[string]string) {
	t.Helper()
	dir := filepath.Join(r.env.Dir, "release")
	nodeimage.BuildPackages(r.env, r.source, versions, "release")
	if _, err := os.Stat(filepath.Join(dir, "KEY")); os.IsNotExist(err) {
		r.env.Build("release", "container-selinux-2.237.0-1.el9", "NetworkManager-ovs-1.52.0-1.el9", "crun-1.23-1.el9",
			"of-the-administrator-1-1")
		content, err := os.ReadFile(r.env.GenerateKey("release"))
		must(t, err)
		must(t, os.WriteFile(filepath.Join(dir, "KEY"), content, 0o600))
	}
	r.env.Sign("release", "release")
	r.env.Run("createrepo_c", "--quiet", dir)
	var packed bytes.Buffer
	packDirectory(t, &packed, dir)
	must(t, environment.Machine.Put(ctx, "/root/release.tar", &packed, 0o600))
	mustOutput(ctx, t,
		`rm -rf /srv/release && mkdir /srv/release && tar -C /srv/release -xf /root/release.tar --no-same-owner &&
			rm /root/release.tar
		mkdir -p /var/lib/containers/storage && echo mine >/var/lib/containers/storage/mine
		rm /etc/os-release
		printf 'NAME="Red Hat Enterprise Linux"\nID=rhel\nVERSION_ID=9.6\nPLATFORM_ID=platform:el9\n' >/etc/os-release`)
}

// packDirectory writes a tar archive of a directory.
func packDirectory(t *testing.T, to io.Writer, dir string) {
	t.Helper()
	archive := tar.NewWriter(to)
	must(t, archive.AddFS(os.DirFS(dir)))
	must(t, archive.Close())
}
