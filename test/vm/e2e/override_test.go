// SPDX-License-Identifier: Apache-2.0

//go:build vm

package e2e

import (
	"context"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/test/testenv"
)

// ownedHostScript creates accounts and files on the host before the join.
const ownedHostScript = `set -e
useradd -m olga && install -d -m 700 -o olga -g olga ~olga/.ssh
echo 'ssh-ed25519 AAAAold olga' >~olga/.ssh/authorized_keys && chown olga: ~olga/.ssh/authorized_keys
useradd retired
install -d /etc/site && echo 'kept = yes' >/etc/site/kept.conf
cat >/root/site.ign`

// overrideConfig is an override with one of each kind of entry that payloads of a release do not have.
const overrideConfig = `{"ignition": {"version": "3.6.0"},
"passwd": {
  "groups": [{"name": "probes", "gid": 4711}],
  "users": [
    {"name": "probe", "groups": ["probes"], "shell": "/bin/sh", "passwordHash": "$6$canary$hash",
      "sshAuthorizedKeys": ["ssh-ed25519 AAAAprobe"]},
    {"name": "olga", "sshAuthorizedKeys": ["ssh-ed25519 AAAAnew"]}]},
"storage": {
  "directories": [{"path": "/etc/site/spool", "mode": 1533, "group": {"name": "probes"}}],
  "files": [
    {"path": "/etc/site/owned.conf", "mode": 416, "user": {"name": "probe"}, "group": {"name": "probes"},
      "contents": {"source": "data:,owned"}},
    {"path": "/etc/site/kept.conf", "mode": 384},
    {"path": "/etc/hosts", "append": [{"source": "data:,192.0.2.250%20site%0A"}]}],
  "links": [{"path": "/etc/site/link", "target": "owned.conf"},
    {"path": "/etc/site/again", "target": "/etc/site/kept.conf", "hard": true}]},
"systemd": {"units": [
  {"name": "site@.service", "contents": "[Service]\nExecStart=/bin/true\n[Install]\nWantedBy=multi-user.target\n"},
  {"name": "site@a.service", "enabled": true},
  {"name": "e2scrub_all.timer", "mask": true}]}}`

// hostSettingsScript prints the open ports of firewalld, now and after its next start, and the values of the
// SELinux booleans, now and after the next boot.
const hostSettingsScript = `firewall-cmd --list-ports; firewall-cmd --permanent --list-ports
semanage boolean --list --noheading | tr -s ' ' |
	grep -oE '^(container_manage_cgroup|container_use_cephfs|virt_use_samba) \([^)]*\)' | sort
grep -o 'psi=0' /boot/grub/grub.cfg | sort -u`

// The output of hostSettingsScript. The port 30080 is that of the administrator;
// firewalld joins it with a range that contains it.
const (
	hostSettingsBefore = `30080/tcp
30080/tcp
container_manage_cgroup (off , off)
container_use_cephfs (off , off)
virt_use_samba (off , off)`
	hostSettingsResult = `9000-9999/tcp 10250-10259/tcp 30000-32767/tcp 6081/udp 9000-9999/udp 30000-32767/udp
9000-9999/tcp 10250-10259/tcp 30000-32767/tcp 6081/udp 9000-9999/udp 30000-32767/udp
container_manage_cgroup (on , on)
container_use_cephfs (on , on)
virt_use_samba (on , on)
psi=0`
)

// otherArguments has a kernel argument with which the machine is not booted.
const otherArguments = `{"ignition": {"version": "3.6.0"}, "kernelArguments": {"shouldExist": ["site.probe=1"]}}`

// retiring removes a user of the host.
const retiring = `{"ignition": {"version": "3.6.0"}, "passwd": {"users": [{"name": "retired", "shouldExist": false}]}}`

// overrideResultScript prints the result of overrideConfig.
const overrideResultScript = `id -G probe | tr ' ' '\n' | grep -qx 4711 && getent passwd probe | cut -d: -f6-
cat ~probe/.ssh/authorized_keys; cat ~olga/.ssh/authorized_keys
cd /etc/site; stat -c '%n %a %U:%G %h' spool owned.conf kept.conf link; cat owned.conf kept.conf; echo
tail -n1 /etc/hosts
systemctl is-enabled site@a.service e2scrub_all.timer; ls /etc/sysctl.d/inotify.conf 2>&1 || true`

const overrideResult = `/home/probe:/bin/sh
ssh-ed25519 AAAAprobe
ssh-ed25519 AAAAold olga
ssh-ed25519 AAAAnew
spool 2775 root:probes 2
owned.conf 640 probe:probes 1
kept.conf 600 root:root 2
link 777 root:root 1
ownedkept = yes

192.0.2.250 site
enabled
masked
ls: cannot access '/etc/sysctl.d/inotify.conf': No such file or directory`

// TestOverrideAndDrop joins with an override and an excluded file on a host with SELinux and firewalld,
// and applies the settings of the host. By default a new file has the label of its directory, but the
// policy has another label for many files. The join ends after kubelet: the guest's policy does not have
// the types of containers, so no pod can run.
func TestOverrideAndDrop(t *testing.T) {
	ctx := newContext(t)
	bootSELinux(ctx, t, "psi=0") // an argument of the payload, so that no reboot is required
	mustOutput(ctx, t, `update-grub # as the installation of a host does
		systemctl enable --quiet --now firewalld
		firewall-cmd --add-port=30080/tcp && firewall-cmd --permanent --add-port=30080/tcp`)
	if code, err := environment.Machine.RunStream(ctx, ownedHostScript, strings.NewReader(overrideConfig), nil,
		os.Stderr); err != nil || code != 0 {
		t.Fatalf("preparing the host: exit code %d, %v", code, err)
	}
	mustOutput(ctx, t, labelTree)
	before, labelled := withoutRecords(hostState(ctx, t)),
		withoutRecords(strings.Split(mustOutput(ctx, t, labelScript), "\n"))
	checkHostSettings(ctx, t, hostSettingsBefore)

	mustOutput(ctx, t, "echo '"+retiring+"' >/root/retiring.ign")
	refused := runAgent(ctx, t, report.Refused, "plan --user-data "+testenv.UserDataPath+
		" --ignition-override /root/retiring.ign")
	checkContains(t, refused.Stdout+refused.Stderr, "the agent does not remove existing users", "userdel --remove retired")
	mustOutput(ctx, t, "rm /root/retiring.ign")

	const with = " --ignition-override /root/site.ign --payload-drop /etc/sysctl.d/inotify.conf"
	mustOutput(ctx, t, "echo '"+otherArguments+"' >/root/arguments.ign")
	planned := runAgent(ctx, t, report.Success, "plan --diff --ignition-override /root/arguments.ign --user-data "+
		testenv.UserDataPath+with)
	mustOutput(ctx, t, "rm /root/arguments.ign")
	checkContains(t, planned.Stdout, "+192.0.2.250 site", "+ probe", "= /etc/site/kept.conf", "site.probe=1",
		"excluded by payload.drop")
	if strings.Contains(planned.Stdout, "canary") {
		t.Error("the plan shows a password hash")
	}
	// restorecon does nothing here: the label must be correct before the file gets its name.
	// Otherwise a program that starts in between reads an unlabelled file.
	mustOutput(ctx, t, "mount --bind /bin/true $(command -v restorecon)")
	runAgent(ctx, t, report.Success, joinCommand+" --until kubelet --apply-host-settings"+with)
	checkLabels(ctx, t)
	checkHostSettings(ctx, t, hostSettingsResult)
	if now := mustOutput(ctx, t, overrideResultScript); now != overrideResult {
		t.Errorf("the host has\n%s\nwant\n%s", now, overrideResult)
	}
	// Without the override files: the merged override is saved with the join.
	mustOutput(ctx, t, "rm /root/site.ign")
	checkContains(t, runAgent(ctx, t, report.Success, "join --until kubelet").Stdout, "nothing was changed")
	var plan struct{ Empty bool }
	must(t, json.Unmarshal([]byte(runAgent(ctx, t, report.Success, "plan --output json").Stdout), &plan))
	if !plan.Empty {
		t.Error("the plan of the joined host is not empty")
	}

	runAgent(ctx, t, report.Success, "leave --no-drain")
	mustOutput(ctx, t, "umount $(command -v restorecon)")
	checkHostSettings(ctx, t, hostSettingsBefore)
	if diff := cmp.Diff(before, withoutRecords(hostState(ctx, t))); diff != "" {
		t.Errorf("the host is not restored (-before +now):\n%s", diff)
	}
	if diff := cmp.Diff(labelled, withoutRecords(strings.Split(mustOutput(ctx, t, labelScript), "\n"))); diff != "" {
		t.Errorf("labels after leave (-before +now):\n%s", diff)
	}
}

// withoutRecords removes the lines about records of firewalld and setsebool: firewalld keeps the previous
// version of a zone, and setsebool -P the value of each boolean that it has set, in the policy's store.
func withoutRecords(lines []string) []string {
	return slices.DeleteFunc(lines, func(line string) bool {
		return strings.Contains(line, "/etc/firewalld/zones/public.xml.old") ||
			strings.Contains(line, "/var/lib/selinux/default/active") || strings.Contains(line, "/etc/selinux/default/policy/")
	})
}

// checkHostSettings fails the test unless the output of hostSettingsScript is as expected.
func checkHostSettings(ctx context.Context, t *testing.T, want string) {
	t.Helper()
	if now := mustOutput(ctx, t, hostSettingsScript+" || true"); now != want {
		t.Errorf("the settings of the host are\n%s\nwant\n%s", now, want)
	}
}
