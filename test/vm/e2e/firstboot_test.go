// SPDX-License-Identifier: Apache-2.0

//go:build vm

package e2e

import (
	"context"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	certificatesv1 "k8s.io/api/certificates/v1"

	"github.com/hcp-node-agent/hcp-node-agent/internal/enrollment"
	"github.com/hcp-node-agent/hcp-node-agent/test/testenv"
	"github.com/hcp-node-agent/hcp-node-agent/test/vm/proxy"
	"github.com/hcp-node-agent/hcp-node-agent/test/waittest"
)

// TestFirstBootByCloudInit boots a machine without the agent, with a seed disk as a cloud
// provides it. No command is run on the machine, except that the service is stopped, which is no
// failure, and killed, after which it must resume.
func TestFirstBootByCloudInit(t *testing.T) {
	ctx := newContext(t)
	removeAgent(ctx, t)
	userData, err := environment.ControlPlane.CurrentUserData(ctx)
	must(t, err)
	bootWithSeed(ctx, t, map[string]string{
		"meta-data": "instance-id: first-boot\n",
		"user-data": exampleUserData(t, "first-boot.yaml", "CONTENT-OF-THE-USER-DATA", string(userData)),
	})
	const waits = "systemctl show -P StatusText hcp-node-agent | grep -q '^client-certificate: waiting for approval' && " +
		"! systemctl show -P MainPID hcp-node-agent | grep -qx 0"
	await(ctx, t, waits)
	state := mustOutput(ctx, t, `systemctl stop hcp-node-agent
		systemctl show -P Result hcp-node-agent; systemctl is-active hcp-node-agent
		systemctl start --no-block hcp-node-agent`)
	if state != "success\ninactive" {
		t.Errorf("the stopped service is %s", state)
	}
	await(ctx, t, waits)
	mustOutput(ctx, t, "systemctl kill -s TERM hcp-node-agent")
	await(ctx, t, "systemctl show -P NRestarts hcp-node-agent | grep -qx 1")
	approveCSRs(ctx, t)
	awaitReadyNode(ctx, t)
	_, err = environment.RunPod(ctx, "first-boot")
	must(t, err)
	mustOutput(ctx, t, "cloud-init status --wait --long")
	await(ctx, t, "systemctl is-active hcp-node-agent")
	t.Log(mustOutput(ctx, t, `cloud-init status --long
		systemctl status --no-pager --lines 0 hcp-node-agent && journalctl -b --no-pager -o cat -u hcp-node-agent`))
	checkContains(t,
		mustOutput(ctx, t, "journalctl -b --no-pager -o cat _SYSTEMD_UNIT=hcp-node-agent.service STEP=schedulable"),
		"Node worker-0 is schedulable")
	if left := mustOutput(ctx, t, "ls -A /etc/hcp-node-agent"); strings.Contains(left, "user-data.ign") {
		t.Errorf("the user data still exists: %s", left)
	}
}

// TestFirstBootWithJoinToken installs the agent as an installation with kickstart does: by the section %post that
// hcp-node-admin has written, without a running systemd. The host then joins at its first boot, with its name, without
// manual approval, with an address that cloud-init has set, and through the cluster's proxy.
func TestFirstBootWithJoinToken(t *testing.T) {
	ctx := newContext(t)
	removeAgent(ctx, t)
	gateway, err := netip.ParsePrefix(environment.ControlPlane.HostAddress)
	must(t, err)
	through, err := proxy.Start(ctx, environment.ControlPlane.Netns, gateway, t.TempDir())
	must(t, err)
	defer through.Stop()
	userData, err := environment.ControlPlane.CurrentUserData(ctx)
	must(t, err)
	userData, err = through.UserData(userData)
	must(t, err)
	network, err := os.ReadFile("../../../examples/cloud-init/network-config.yaml")
	must(t, err)
	installed := enrolledFile(ctx, t, staticAddress, "kickstart", ".ks", userData, "settings: {repair: true}\n")
	post, hasEnd := strings.CutSuffix(strings.TrimPrefix(installed, "%post --erroronfail\n"), "%end\n")
	if !hasEnd || strings.HasPrefix(post, "%") {
		t.Fatal("the file is not a section of a kickstart file")
	}
	mustOutput(ctx, t, "echo unnamed.example.com >/etc/hostname; export SYSTEMD_OFFLINE=1\n"+post)
	if active := mustOutput(ctx, t, "systemctl show -P ActiveState hcp-node-agent"); active != "inactive" {
		t.Fatalf("the service is %s during the installation", active)
	}
	bootWithSeed(ctx, t, map[string]string{
		"meta-data": "instance-id: with-a-join-token\n",
		"network-config": strings.NewReplacer("192.0.2.17/24", staticAddress+"/24", "192.0.2.53",
			"192.0.2.1").Replace(string(network)),
		"user-data": "#cloud-config\npreserve_hostname: true\n",
	})
	await(ctx, t, "systemctl is-active hcp-node-agent && ! ls /etc/hcp-node-agent/node.token")
	awaitReadyNode(ctx, t)
	address := mustOutput(ctx, t,
		"ip -4 -o address show dev br-ex scope global; nmcli -g ipv4.method connection show ovs-if-br-ex")
	if !strings.Contains(address, " "+staticAddress+"/24 ") ||
		strings.Contains(address, "dynamic") || !strings.HasSuffix(address, "manual") {
		t.Errorf("br-ex has %s", address)
	}
	requests, err := through.Log()
	must(t, err)
	checkContains(t, requests, "CONNECT "+environment.ControlPlane.IgnitionEndpoint)
}

// staticAddress is the address of the machine in TestFirstBootWithJoinToken.
const staticAddress = "192.0.2.104"

// enrolledFile enrolls the machine with an address and flags, and returns its file in a format. The file contains the
// repository of the agent and other settings of a site.
func enrolledFile(
	ctx context.Context, t *testing.T, address, format, suffix string, userData []byte, settings string, flags ...string,
) string {
	t.Helper()
	dir := t.TempDir()
	userDataFile, siteFile := filepath.Join(dir, "user-data.ign"), filepath.Join(dir, "site.yaml")
	must(t, os.WriteFile(userDataFile, userData, 0o600))
	must(t, os.WriteFile(siteFile, []byte("apiVersion: hcp-node-agent.io/v1alpha1\nkind: SiteConfig\nrepositories:\n"+
		"- {name: hcp-node-agent, baseurl: 'file:///srv/new', gpgkey: 'file:///srv/new/RPM-GPG-KEY'}\n"+settings), 0o600))
	files := enrollMachine(ctx, t, address, append(flags, "--format", format, "--site-config", siteFile,
		"--embed-user-data", userDataFile)...)
	content, err := os.ReadFile(enrollment.HostPath(files, testenv.NodeName, suffix))
	must(t, err)
	return string(content)
}

// bootWithSeed reboots the machine as if it had never run cloud-init, with the modules that
// cloud-init has on RHEL. The module that sets the host name runs later than on RHEL: Debian's
// cloud-init.service runs before D-Bus, which the class for RHEL needs to set the name.
func bootWithSeed(ctx context.Context, t *testing.T, files map[string]string) {
	t.Helper()
	mustOutput(ctx, t, `rm -f /etc/cloud/cloud-init.disabled /root/user-data.ign /root/approver.kubeconfig
		cat >/etc/cloud/cloud.cfg <<'CFG'
users: []
disable_root: false
datasource_list: [NoCloud, None]
cloud_init_modules: [seed_random, write-files]
cloud_config_modules: [set_hostname, rh_subscription, yum-add-repo, runcmd]
cloud_final_modules: [package-update-upgrade-install, scripts-user, final-message]
system_info:
  distro: rhel
  paths: {cloud_dir: /var/lib/cloud, templates_dir: /etc/cloud/templates}
  network: {renderers: [network-manager]}
CFG
		rm -f /etc/cloud/cloud.cfg.d/*; cloud-init clean --logs; sync`)
	must(t, environment.Machine.PowerOff(ctx))
	must(t, environment.Machine.Seed(ctx, files))
	must(t, environment.Machine.Boot(ctx))
	must(t, environment.Machine.WaitSSH(ctx))
}

// exampleUserData returns the user data of examples/cloud-init with the machine's repository. pairs are
// placeholders and their replacements.
func exampleUserData(t *testing.T, name string, pairs ...string) string {
	t.Helper()
	content, err := os.ReadFile("../../../examples/cloud-init/" + name)
	must(t, err)
	pairs = append(pairs, "https://packages.example.com/hcp-node-agent", "file:///srv/new")
	for i := 0; i < len(pairs); i += 2 {
		if !strings.Contains(string(content), pairs[i]) {
			t.Fatalf("%s does not contain %s", name, pairs[i])
		}
		// Keep the indentation of the YAML block in each line.
		content = []byte(strings.ReplaceAll(string(content), pairs[i],
			strings.ReplaceAll(strings.TrimSpace(pairs[i+1]), "\n", "\n      ")))
	}
	return string(content)
}

// approveCSRs approves the client and the serving CSR of a node, as an administrator does.
func approveCSRs(ctx context.Context, t *testing.T) {
	t.Helper()
	done := 0
	waittest.Until(t, "waiting for two CSRs", func() (any, bool) {
		done += decideCSRs(ctx, t, certificatesv1.CertificateApproved)
		return done, done >= 2
	})
}
