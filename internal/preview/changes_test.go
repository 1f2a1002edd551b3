// SPDX-License-Identifier: Apache-2.0

package preview

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hcp-node-agent/hcp-node-agent/internal/kinds"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
)

// existingFile returns the state of an existing file as the ledger reads it.
func existingFile(content string, mode uint32) ledger.State {
	state := ledger.FileState([]byte(content), mode)
	state.Type = "file"
	return state
}

func pendingFile(target string, now, want ledger.State) ledger.PlannedChange {
	return ledger.PlannedChange{Change: ledger.Change{Kind: ledger.File, Target: target, Desired: want}, Now: now}
}

func TestGroupsAndActions(t *testing.T) {
	present := ledger.State{Present: true}
	link := ledger.State{Present: true, Type: "link", Link: "/a"}
	keep := func(mode uint32) ledger.State { return ledger.State{Present: true, Mode: &mode} }
	for name, test := range map[string]struct {
		kind      ledger.Kind
		target    string
		now, want ledger.State
		group     kinds.Group
		action    Action
	}{
		"new file": {ledger.File, "/etc/a", ledger.State{}, existingFile("a", 0o644), "files", "add"},
		"new content": {
			ledger.File, "/etc/a", existingFile("a", 0o644), existingFile("b", 0o644), "files", "change",
		},
		"new content and mode": {
			ledger.File, "/etc/a", existingFile("a", 0o644), existingFile("b", 0o600), "files", "change",
		},
		"new mode": {
			ledger.File, "/etc/a", existingFile("a", 0o644), existingFile("a", 0o600), "files", "attributes",
		},
		"new mode, content kept": {ledger.File, "/etc/a", existingFile("a", 0o644), keep(0o600), "files", "attributes"},
		"file over link":         {ledger.File, "/etc/a", link, existingFile("a", 0o600), "files", "change"},
		"gone":                   {ledger.File, "/etc/a", existingFile("a", 0o644), ledger.State{}, "files", "remove"},
		"directory": {
			ledger.Directory, "/etc/a", ledger.State{Present: true, Type: "directory"}, keep(0o700), "files", "attributes",
		},
		"hard link": {ledger.HardLink, "/etc/a", ledger.State{}, present, "files", "add"},
		"unit file": {
			ledger.File, "/etc/systemd/system/a.service.d/1.conf", ledger.State{}, existingFile("a", 0o644), "units", "add",
		},
		"mask": {
			ledger.Symlink, "/etc/systemd/system/a.service", link,
			ledger.State{Present: true, Link: "/dev/null"},
			"units",
			"change",
		},
		"enablement": {
			ledger.Unit, "a.service",
			ledger.State{Present: true, Enabled: "disabled"},
			ledger.State{Present: true, Enabled: "enabled"},
			"units", "change",
		},
		"sysctl": {
			ledger.Sysctl, "a.b",
			ledger.State{Present: true, Value: "0"},
			ledger.State{Present: true, Value: "1"},
			"kernel",
			"change",
		},
		"module":         {ledger.Module, "a", ledger.State{}, present, "kernel", "add"},
		"user":           {"user", "core", ledger.State{}, present, "users", "add"},
		"something else": {"firewall", "a", ledger.State{}, present, "other", "add"},
	} {
		p := ledger.PlannedChange{
			Change: ledger.Change{Kind: test.kind, Target: test.target, Desired: test.want},
			Now:    test.now,
		}
		if got := plannedChange(p, false); got.Group != test.group || got.Action != test.action {
			t.Errorf("%s: group %q, action %q", name, got.Group, got.Action)
		}
	}
	if got := plannedChange(pendingFile("/etc/crio/a", ledger.State{}, existingFile("a", 0o644)),
		true); got.Group != kinds.GroupRuntime {
		t.Errorf("CRI-O's file is in group %q", got.Group)
	}
}

func TestTextDiff(t *testing.T) {
	const canary = "hunter2hunter2"
	for name, test := range map[string]struct {
		target    string
		now, want ledger.State
		diff      string
	}{
		"changed": {
			"/etc/a", existingFile("a\nb\nc\n", 0o644), existingFile("a\nx\nc\n", 0o644),
			"--- /etc/a\n+++ /etc/a\n@@ -1,3 +1,3 @@\n a\n-b\n+x\n c\n",
		},
		"new": {"/etc/a", ledger.State{}, existingFile("a\n", 0o644), "--- /dev/null\n+++ /etc/a\n@@ -0,0 +1 @@\n+a\n"},
		"no newline": {
			"/etc/a", existingFile("a", 0o644), existingFile("b", 0o644),
			"--- /etc/a\n+++ /etc/a\n@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+b\n\\ No newline at end of file\n",
		},
		"removed": {
			"/etc/a", existingFile("a\n", 0o644), ledger.State{}, "--- /etc/a\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n",
		},
		"over a link": {
			"/etc/a",
			ledger.State{Present: true, Type: "link", Link: "/x"},
			existingFile("a\n", 0o644),
			"--- /dev/null\n+++ /etc/a\n@@ -0,0 +1 @@\n+a\n",
		},
		"new and empty": {"/etc/a", ledger.State{}, existingFile("", 0o644), ""},
		"mode alone":    {"/etc/a", existingFile("a", 0o644), existingFile("a", 0o600), ""},
		"masked": {
			"/etc/a", existingFile("password="+canary+"\na=1\n", 0o644), existingFile("password="+canary+"\na=2\n", 0o644),
			"--- /etc/a\n+++ /etc/a\n@@ -1,2 +1,2 @@\n password=***\n-a=1\n+a=2\n",
		},
		"only a password": {
			"/etc/a", existingFile("password="+canary+"\n", 0o644), existingFile("password=x"+canary+"\n", 0o644),
			"only secrets differ, 24 -> 25 bytes, changed",
		},
		"will be private": {
			"/etc/a", existingFile("a", 0o644), existingFile(canary, 0o600), "secret, 1 -> 14 bytes, changed",
		},
		"was private":   {"/etc/a", existingFile(canary, 0o640), existingFile("a", 0o644), "secret, 14 -> 1 bytes, changed"},
		"private, gone": {"/etc/a", existingFile(canary, 0o600), ledger.State{}, "secret, 14 -> 0 bytes, changed"},
		"pull secret": {
			"/var/lib/kubelet/config.json", ledger.State{}, existingFile(canary, 0o644), "secret, 0 -> 14 bytes, changed",
		},
		"mcs content": {
			"/etc/mcs-machine-config-content.json",
			ledger.State{},
			existingFile(canary, 0o644),
			"secret, 0 -> 14 bytes, changed",
		},
		"a key": {
			"/etc/a.pem",
			ledger.State{},
			existingFile("-----BEGIN PRIVATE KEY-----\n"+canary, 0o644),
			"secret, 0 -> 42 bytes, changed",
		},
		"binary": {
			"/etc/a", existingFile("a\x00"+canary, 0o644), existingFile("b", 0o644), "binary, 16 -> 1 bytes, changed",
		},
		"escapes":     {"/etc/a", ledger.State{}, existingFile("\x1b[2J"+canary, 0o644), "binary, 0 -> 18 bytes, changed"},
		"backwards":   {"/etc/a", ledger.State{}, existingFile("a\u202eb", 0o644), "binary, 0 -> 5 bytes, changed"},
		"overprinted": {"/etc/a", ledger.State{}, existingFile("a\rb", 0o644), "binary, 0 -> 3 bytes, changed"},
		"DOS": {
			"/etc/a", ledger.State{}, existingFile("a\r\n", 0o644), "--- /dev/null\n+++ /etc/a\n@@ -0,0 +1 @@\n+a\r\n",
		},
		"large": {
			"/etc/a",
			ledger.State{},
			existingFile(strings.Repeat("a\n", maxDiffSize), 0o644),
			"large, 0 -> 2097152 bytes, changed",
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := textDiff(pendingFile(test.target, test.now, test.want))
			if diff := cmp.Diff(test.diff, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if strings.Contains(got, canary) {
				t.Error("a secret is shown")
			}
		})
	}
	mode := uint32(0o600)
	keeps := ledger.PlannedChange{
		Change: ledger.Change{Kind: ledger.File, Target: "/a", Desired: ledger.State{Present: true, Mode: &mode}},
		Now:    existingFile("a", 0o644),
	}
	if got := textDiff(keeps); got != "" {
		t.Errorf("a file whose content stays: %q", got)
	}
}

// The JSON must contain no file content except in diffs.
func TestPlannedChangeAsJSON(t *testing.T) {
	change := plannedChange(pendingFile("/etc/a", existingFile("before-it", 0o644), existingFile("after-it", 0o644)),
		false)
	encoded, err := json.Marshal(change)
	if err != nil {
		t.Fatal(err)
	}
	text := string(encoded)
	if strings.Contains(text, "before-it") || strings.Contains(text, "after-it") || strings.Contains(text, `"diff"`) {
		t.Errorf("a content is in it: %s", text)
	}
	for _, part := range []string{
		`"kind":"file","target":"/etc/a"`, `"desired":{`, `"now":{`, `"group":"files","action":"change"`,
	} {
		if !strings.Contains(text, part) {
			t.Errorf("%s is not in %s", part, text)
		}
	}
}
