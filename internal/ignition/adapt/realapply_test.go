// SPDX-License-Identifier: Apache-2.0

package adapt

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostfs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition/accounts"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/test/ignitiontest"
)

// rhelTree returns a root with the parts of RHEL that payloads affect: merged directories, and
// files of packages that a payload replaces.
func rhelTree(t *testing.T) *hostfs.Tree {
	t.Helper()
	root := t.TempDir()
	for _, dir := range []string{
		"etc/containers", "etc/systemd/system/multi-user.target.wants", "etc/sysctl.d", "usr/bin", "usr/lib", "usr/local/bin",
		"run", "var/lib",
	} {
		must(t, os.MkdirAll(filepath.Join(root, dir), 0o755)) //nolint:gosec // as on a host
	}
	for link, target := range map[string]string{
		"bin":                               "usr/bin",
		"lib":                               "usr/lib",
		"var/run":                           "../run",
		"etc/systemd/system/kubens.service": "/dev/null",
	} {
		must(t, os.Symlink(target, filepath.Join(root, link)))
	}
	for name, content := range map[string]string{
		"etc/passwd":                     "root:x:0:0:root:/root:/bin/bash\nopenvswitch:x:991:990::/:/sbin/nologin\n",
		"etc/group":                      "root:x:0:\nopenvswitch:x:990:\n",
		"etc/containers/registries.conf": "unqualified-search-registries = [\"registry.example.com\"]\n",
		"etc/containers/policy.json":     "{}\n",
		"etc/sysctl.d/inotify.conf":      "fs.inotify.max_user_watches = 1\n",
	} {
		must(t, os.WriteFile(filepath.Join(root, name), []byte(content), 0o640)) //nolint:gosec // as on a host
	}
	tree, err := hostfs.OpenTree(root)
	must(t, err)
	t.Cleanup(func() { tree.Close() })
	return tree
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// filesOf returns the file information of a tree by path.
func filesOf(t *testing.T, tree *hostfs.Tree) map[string]hostfs.Info {
	t.Helper()
	all := map[string]hostfs.Info{}
	must(t, tree.Walk("/", func(p string, info hostfs.Info) error {
		if info.Type == hostfs.Regular {
			content, _, err := tree.ReadFile(p)
			must(t, err)
			info.Xattrs = map[string][]byte{"content": content}
		}
		all[p] = hostfs.Info{
			Type:   info.Type,
			Mode:   info.Mode,
			UID:    info.UID,
			GID:    info.GID,
			Link:   info.Link,
			Xattrs: info.Xattrs,
		}
		return nil
	}))
	return all
}

// The files of every real payload are created in a RHEL-like root as in the payload, are
// unchanged by a second run, and are removed by an undo.
func TestRealPayloadsApply(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can give files to root")
	}
	for _, name := range ignitiontest.RealPayloads(t, "worker-*.ign") {
		t.Run(filepath.Base(name), func(t *testing.T) {
			p, tree, in := ignitiontest.LoadRealPayload(t, name), rhelTree(t), plainHost()
			before := filesOf(t, tree)
			users, groups, err := accounts.IDs(tree)
			must(t, err)
			in.Tree, in.User, in.Group = tree, users, groups
			plan, err := ToHost(p, in)
			if report.CodeOf(err) == report.Refused {
				t.Skip("it is of another platform")
			}
			must(t, err)
			l, err := ledger.Open(t.TempDir(), ledger.Drivers{Paths: &ledger.Paths{Tree: tree}})
			must(t, err)
			defer l.Close()
			made, err := l.Apply(t.Context(), "files", plan.Files)
			must(t, err)
			if len(made) < 90 {
				t.Errorf("only %d changes were made", len(made))
			}
			for _, file := range p.Config.Storage.Files {
				want, _, _ := p.File(file.Path)
				if got, _, err := tree.ReadFile(file.Path); file.Path != ignition.MachineConfigPath &&
					(err != nil || string(got) != string(want)) {
					t.Errorf("%s is not as the payload has it: %v", file.Path, err)
				}
			}
			if plan, err = ToHost(p, in); err != nil {
				t.Fatal(err)
			}
			if pending, err := l.Diff(t.Context(), plan.Files); err != nil || len(pending) > 0 {
				t.Errorf("a second run would change %v, %v", pending, err)
			}
			outcome, err := l.Undo(t.Context())
			if err != nil || len(outcome.Kept) > 0 {
				t.Errorf("giving back kept %v: %v", outcome.Kept, err)
			}
			if diff := cmp.Diff(before, filesOf(t, tree)); diff != "" {
				t.Errorf("(-before +after giving back):\n%s", diff)
			}
		})
	}
}
