// SPDX-License-Identifier: Apache-2.0

package report_test

import (
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/test/remedies"
)

// Every remedy in the agent's source is valid shell: everything but comments must parse,
// and each command must be available to administrators.
func TestRemediesAreShell(t *testing.T) {
	for _, r := range remedies.Below(t, "../../cmd", "../../internal") {
		command := report.Remedy(r.Text).Command()
		if out, err := exec.CommandContext(t.Context(), "sh", "-n", "-c", command).CombinedOutput(); err != nil {
			t.Errorf("%s: %q is not valid shell: %s", r.At, command, out)
		}
		for line := range strings.Lines(command) {
			word, _, _ := strings.Cut(strings.TrimSpace(line), " ")
			if !strings.HasPrefix(word, remedies.Placeholder) && !slices.Contains(commands, strings.TrimSuffix(word, ";")) &&
				!assignment.MatchString(word) {
				t.Errorf("%s: %q begins with no known command; a note begins with #", r.At, strings.TrimSpace(line))
			}
		}
		if note := report.Remedy(r.Text).Note(); strings.Contains(r.Text, "   ") || strings.Contains(note, " # ") {
			t.Errorf("%s: %q has words behind a command, or a note in a note", r.At, r.Text)
		}
	}
}

// A remedy that is pasted without reading must do no harm: a reboot, a deletion of records and the end of
// a safeguard are comments with their reason. A maintenance drains the node before it reboots.
func TestRemediesDoNoHarm(t *testing.T) {
	for _, r := range remedies.Below(t, "../../cmd", "../../internal") {
		for line := range strings.Lines(report.Remedy(r.Text).Command()) {
			line = strings.TrimSpace(line)
			isDrained := strings.HasPrefix(line, "hcp-node-agent maintenance ")
			if !isDrained && harmful.MatchString(line) {
				t.Errorf("%s: %q does harm when it is pasted; make it a comment with its reason", r.At, line)
			}
		}
	}
}

// harmful matches commands that end pods or remove what protects or restores the host.
var harmful = regexp.MustCompile(`\b(reboot|poweroff|shutdown|mkfs\S*|wipefs)\b|\brm\s+(-\S+\s+)*-\w*r|` +
	`\b(rm|mv)\s.*/var/lib/(kubelet|containers)\b|\brm\s.*(maintenance|repairs|ledger|state)|` +
	`\b(stop|disable|mask)\b.*\b(firewalld|fapolicyd|auditd|nftables|kubelet|crio)\b|setenforce 0|` +
	`\binsecure\b|--nogpgcheck|--no-gpg-checks`)

// assignment matches an assignment to a variable that the next command uses.
var assignment = regexp.MustCompile(`^[A-Z]+=\$\(oc$`)

// commands are the commands with which remedies can begin.
var commands = []string{
	"ausearch", "base64", "bootc", "bridge", "chown", "chronyc", "cat", "crictl", "crio", "curl", "date", "df", "diff",
	"dnf", "du", "firewall-cmd", "free", "fuser", "getent", "grep", "grubby",
	"hcp-node-admin", "hcp-node-agent", "hostnamectl", "install", "ip", "journalctl", "jq", "kubelet", "loginctl", "ls",
	"lsattr", "lsblk", "mount", "mv", "namei", "nft", "nmcli", "nmstatectl", "oc",
	"openssl", "ovs-vsctl", "ping", "ps", "resolvectl", "rm", "rpm", "rpm-ostree", "sed", "setenforce", "setsebool",
	"skopeo", "ss", "sshd", "stat", "subscription-manager", "sudo", "swapoff", "sysctl", "teamdctl",
	"systemctl", "umask", "systemd-analyze", "timedatectl", "umount", "usermod", "userdel", "echo", "fapolicyd-cli",
	"findmnt", "mkdir", "restorecon", "cp", "podman", "uname", "PULL", "printf", "fagenrules",
}
