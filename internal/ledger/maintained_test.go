// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// A file that a component of the cluster rewrites is neither drift nor repaired, and leaves the host with the agent.
func TestMaintainedFiles(t *testing.T) {
	root := populate(t)
	l := open(t, t.TempDir(), root)
	l.drivers.IsMaintained = func(target string, content []byte) bool {
		isSecret := slices.Contains([]string{"before\n", "renewed\n"}, string(content))
		return (target == "/etc/secret" && isSecret) || (target == "/etc/marker" && content == nil)
	}
	file := func(target, content string) Change {
		return Change{Kind: File, Target: target, Desired: ownedByTest(FileState([]byte(content), 0o600))}
	}
	written := []Change{file("/etc/secret", "of the payload\n"), file("/etc/marker", "m\n"), file("/etc/other", "o\n")}
	write := func(target, content string, mode os.FileMode) {
		t.Helper()
		path := filepath.Join(root, target)
		must(t, os.WriteFile(path, []byte(content), mode))
		must(t, os.Chmod(path, mode))
	}
	check := func(when string, wantDrift, wantPending, wantMaintained []string) {
		t.Helper()
		drift, err := l.Drift(t.Context())
		must(t, err)
		pending, err := l.Diff(t.Context(), written)
		must(t, err)
		maintained, err := l.Maintained(t.Context())
		must(t, err)
		var drifted, planned []string
		for _, one := range drift {
			drifted = append(drifted, one.Target)
		}
		for _, one := range pending {
			planned = append(planned, one.Target)
		}
		if !slices.Equal(drifted, wantDrift) || !slices.Equal(planned, wantPending) ||
			!slices.Equal(maintained, wantMaintained) {
			t.Errorf("%s: drift %v, pending %v, maintained %v", when, drifted, planned, maintained)
		}
	}
	write("etc/secret", "before\n", 0o600)
	check("before the first join", nil, []string{"/etc/secret", "/etc/marker", "/etc/other"}, nil)
	_, err := l.Apply(t.Context(), "files", written)
	must(t, err)
	write("etc/secret", "renewed\n", 0o600)
	write("etc/other", "renewed\n", 0o600)
	must(t, os.Remove(filepath.Join(root, "etc/marker")))
	check("rewritten", []string{"/etc/other"}, []string{"/etc/other"}, []string{"/etc/secret", "/etc/marker"})
	write("etc/secret", "renewed\n", 0o644)
	both := []string{"/etc/secret", "/etc/other"}
	check("readable by others", both, both, []string{"/etc/marker"})
	write("etc/secret", "no secret\n", 0o600)
	check("invalid", both, both, []string{"/etc/marker"})

	write("etc/secret", "renewed\n", 0o600)
	written[0] = file("/etc/secret", "of the next payload\n")
	check("another payload", []string{"/etc/other"}, both, []string{"/etc/secret", "/etc/marker"})
	_, err = l.Apply(t.Context(), "files", written)
	must(t, err)
	if _, err := os.Stat(filepath.Join(root, "etc/secret"+backupSuffix)); !os.IsNotExist(err) {
		t.Errorf("a copy of the credential remains: %v", err)
	}
	write("etc/secret", "renewed\n", 0o600)
	_, err = l.Undo(t.Context())
	must(t, err)
	if content, _ := os.ReadFile(filepath.Join(root, "etc/secret")); string(content) != "before\n" {
		t.Errorf("after the undo: %q", content)
	}
}
