// SPDX-License-Identifier: Apache-2.0

package software

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/dnf"
)

// Locks of dnf5 are replaced and restored; other entries remain.
func TestLocks5(t *testing.T) {
	entry := lockEntry5(dnf.Package{Name: "cri-o", Version: "1.31.4", Release: "2.el9"})
	const head, added = "version = \"1.0\"\n", `
[[packages]]
name = "cri-o"
comment = "the release of the cluster; set by hcp-node-agent"

[[packages.conditions]]
key = "evr"
comparator = "="
value = "1.31.4-2.el9"
`
	// As dnf5 versionlock add writes them.
	const bash = `
[[packages]]
name = "bash"
comment = "Added by 'versionlock add' command on 2026-11-30 17:20:23"

[[packages.conditions]]
key = "evr"
comparator = "="
value = "5.1.8-6.el9"
`
	const lower = "\n[[packages]]\nname = \"cri-o\"\n\n" +
		"[[packages.conditions]]\nkey = \"evr\"\ncomparator = \"<\"\nvalue = \"1.32\"\n"
	for name, test := range map[string]struct{ before, locked, after string }{
		"no file":                 {"", head + added, ""},
		"cleared by dnf5":         {"packages = []\n" + head + "\n", head + added, ""},
		"another package":         {head + bash, head + bash + added, head + bash},
		"the same package":        {head + lower + bash, head + bash + added, head + bash + lower},
		"an array that was typed": {head + `packages = [{name = "x", conditions = []}]`, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			former, err := locksOf5(test.before, "cri-o")
			if err != nil {
				t.Fatal(err)
			}
			locked, err := replaceLocks5(test.before, "cri-o", []string{entry})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.locked, locked); diff != "" && test.locked != "" {
				t.Errorf("locked (-want +got):\n%s", diff)
			}
			if got, err := locksOf5(locked, "cri-o"); err != nil || !cmp.Equal(got, []string{entry}) {
				t.Errorf("entries %q, %v", got, err)
			}
			after, err := replaceLocks5(locked, "cri-o", former)
			if diff := cmp.Diff(test.after, after); err != nil || (diff != "" && test.locked != "") {
				t.Errorf("restored: %v (-want +got):\n%s", err, diff)
			}
		})
	}
	if _, err := replaceLocks5("not TOML", "cri-o", nil); err == nil {
		t.Error("a list that is not TOML was replaced")
	}
}
