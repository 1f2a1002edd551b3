// SPDX-License-Identifier: Apache-2.0

package entries

import (
	"errors"
	"strings"
	"testing"

	"github.com/coreos/ignition/v2/config/v3_6/types"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostfs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// mountedTree is a tree with a mount point.
type mountedTree struct {
	*hostfs.Tree
	at string
}

func (m mountedTree) Mounts(p string) ([]string, error) {
	if hostfs.IsWithin(m.at, p) {
		return []string{m.at}, nil
	}
	return nil, nil
}

// fullTree is a tree that reports more files than it has.
type fullTree struct{ *hostfs.Tree }

func (f fullTree) Walk(p string, visit func(string, hostfs.Info) error) error {
	info, err := f.Lstat(p)
	for range maxRemoved + 1 {
		if err == nil {
			err = visit(p+"/x", info)
		}
	}
	return err
}

// otherDeviceTree is a tree with a directory on another file system that the mount table lists under
// another name.
type otherDeviceTree struct{ *hostfs.Tree }

func (o otherDeviceTree) Walk(p string, visit func(string, hostfs.Info) error) error {
	return o.Tree.Walk(p, func(p string, info hostfs.Info) error {
		info.Device++
		return visit(p, info)
	})
}

func TestDecideReportsProblems(t *testing.T) {
	const overFile = `{"storage":{"files":[{"path":"/d","overwrite":true,"contents":{"source":"data:,x"}}]}}`
	for name, c := range map[string]struct {
		tree, config string
		join         bool
		around       func(*hostfs.Tree) Tree
		code         report.Code
		want         []string
		not          string
	}{
		"a file that exists": {
			tree: "f /a =old\nf /b =new", code: report.Failed,
			config: `{"storage":{"files":[{"path":"/a","contents":{"source":"data:,new"}},{"path":"/b","mode":384,"contents":{"source":"data:,new"}}]}}`,
			want: []string{
				"/a must be a file, but a different file exists", "/b must be a file, but a different file exists",
				"does not set overwrite: true",
			},
		},
		"a directory in the way of a file, a link and a unit": {
			tree: "d /d\nd /e\nd /etc/systemd/system/a.service\nd /etc/systemd/system/b.service.d/1.conf", code: report.Failed,
			config: `{"storage":{"files":[{"path":"/d"}],"links":[{"path":"/e","target":"/x"}]},"systemd":{"units":[{"name":"a.service","contents":"[Unit]\n"},{"name":"b.service","dropins":[{"name":"1.conf","contents":""}]}]}}`,
			want: []string{
				"/d must be a file, but a different directory exists", "/e must be a link to /x, but a different directory exists",
				"system/a.service must be a file, but a directory", "/1.conf must be a file, but a directory",
			},
		},
		"other links": {
			tree: "l /a =/x\nf /b =\nf /c =\nf /t =", code: report.Failed,
			config: `{"storage":{"links":[{"path":"/a","target":"/y"},{"path":"/b","target":"/y"},{"path":"/c","target":"/t","hard":true},{"path":"/e","target":"/none","hard":true}]}}`,
			want: []string{
				"/a must be a link to /y, but a different link to /x exists", "/b must be a link to /y, but a different file",
				"/c must be a hard link to /t, but another file", "/e must be a hard link to /none, which does not exist",
			},
		},
		"no directory": {
			tree: "f /a =x\nl /l =/d\nd /d", code: report.Failed,
			config: `{"storage":{"directories":[{"path":"/a"},{"path":"/l"}],"files":[{"path":"/a/b/c"}]}}`,
			want: []string{
				"/a must be a directory, but a different file exists", "/l must be a directory, but a different link to /d exists",
			},
		},
		"a parent that is a file, also on a host": {
			join: true, tree: "f /a =x", code: report.Failed,
			config: `{"storage":{"files":[{"path":"/a/b/c"}]}}`,
			want:   []string{"/a is a file, not a directory"},
		},
		"a hard link to a directory": {
			tree: "d /d", code: report.Failed,
			config: `{"storage":{"links":[{"path":"/l","target":"/d","hard":true}]}}`,
			want:   []string{"/l must be a hard link to /d, which is a directory"},
		},
		"two entries for one path": {
			tree: "l /var/run =/run", code: report.Usage,
			config: `{"storage":{"directories":[{"path":"/run/x"}],"files":[{"path":"/var/run/x"}]}}`,
			want:   []string{"/run/x and /var/run/x are the same path /run/x through symbolic links"},
		},
		"links in a circle": {
			tree: "l /a =b\nl /b =a", code: report.Failed,
			config: `{"storage":{"files":[{"path":"/a/x"}]}}`,
			want:   []string{"/a contains more than 40 symbolic links"},
		},
		"unknown owners": {
			tree: `f /etc/passwd =bob:x:7:8::/:\n`, code: report.Usage,
			config: `{"storage":{"files":[{"path":"/a","user":{"name":"al"}},{"path":"/b","user":{"name":"root"}},{"path":"/c","user":{"name":"bob"}}],"directories":[{"path":"/d","group":{"name":"als"}}]}}`,
			want: []string{
				`/a must belong to user "al", which is not in /etc/passwd`, `/b must belong to user "root"`,
				`/d must belong to group "als", which is not in /etc/group`,
			},
			not: "/c",
		},
		"places that are no files of the host": {
			code:   report.Usage,
			config: `{"storage":{"directories":[{"path":"/","mode":511},{"path":"/proc/x"}],"files":[{"path":"/sys/x"},{"path":"/.hcp-node-agent-apply/ledger.log"}],"links":[{"path":"/dev/x","target":"y"}]}}`,
			want:   []string{"an entry at / ", "/proc/x", "/sys/x", "/dev/x", "/.hcp-node-agent-apply/ledger.log"},
		},
		"the ledger of a host, over a link": {
			join: true, tree: "l /srv =/var/lib/hcp-node-agent", code: report.Failed,
			config: `{"storage":{"files":[{"path":"/srv/ledger.log"}]}}`,
			want: []string{
				"an entry at /srv/ledger.log is not allowed: symbolic links lead to /var/lib/hcp-node-agent/ledger.log",
			},
		},
		"names of units that a preset takes for patterns": {
			code:   report.Usage,
			config: `{"systemd":{"units":[{"name":"*.service","enabled":true},{"name":"a b.service"},{"name":"a@x\\x2d:1.service","enabled":true}]}}`,
			want:   []string{`unit "*.service" has a name that systemd does not accept`, `unit "a b.service" has`},
			not:    "x2d",
		},
		"paths that are too deep or too long": {
			code: report.Usage,
			config: `{"storage":{"files":[{"path":"` + strings.Repeat("/d", 2500) + `"},{"path":"/e/` +
				strings.Repeat("e", 4000) + `"},{"path":"` + strings.Repeat("/f", 128) + `"}]}}`,
			want: []string{"the path /d/d/d", "the path /e/eee"},
			not:  "/f",
		},
		"disks": {
			code:   report.Usage,
			config: `{"storage":{"disks":[{"device":"/dev/sda"}],"raid":[{"name":"r","level":"linear","devices":["/dev/sda"]}],"luks":[{"name":"l","device":"/dev/sda"}],"filesystems":[{"device":"/dev/sda","format":"xfs"}]}}`,
			want:   []string{"storage.disks", "storage.raid", "storage.luks", "storage.filesystems"},
		},
		"no more than five at once": {
			tree: "d /1\nd /2\nd /3\nd /4\nd /5\nd /6\nd /7", code: report.Failed,
			config: `{"storage":{"files":[{"path":"/1"},{"path":"/2"},{"path":"/3"},{"path":"/4"},{"path":"/5"},{"path":"/6"},{"path":"/7"}]}}`,
			want:   []string{"/5 must", "and 2 more"}, not: "/6 shall",
		},
		"a mount in a directory that would go": {
			tree: "d /d/m", config: overFile, code: report.Failed,
			around: func(tree *hostfs.Tree) Tree { return mountedTree{tree, "/d/m"} },
			want:   []string{"the directory /d would be removed, but a file system is mounted at /d/m"},
		},
		"another file system in a directory that would go": {
			tree: "d /d/m", config: overFile, code: report.Failed,
			around: func(tree *hostfs.Tree) Tree { return otherDeviceTree{tree} },
			want:   []string{"the directory /d would be removed, but a file system is mounted at /d/m"},
		},
		"too large a directory": {
			tree: "d /d", config: overFile, code: report.Failed,
			around: func(tree *hostfs.Tree) Tree { return fullTree{tree} },
			want:   []string{"the directory /d would be removed, but it contains more than 100000 entries"},
		},
		"on a host that joins no tree goes": {
			join: true, tree: "d /d\nd /e\nd /etc/systemd/system/a.service", code: report.Failed,
			config: `{"storage":{"files":[{"path":"/d","overwrite":true,"contents":{"source":""}}],"links":[{"path":"/e","overwrite":true,"target":"/x"}]},"systemd":{"units":[{"name":"a.service","mask":true}]}}`,
			want: []string{
				"/d is a directory; on a running host, directories are not replaced", "/e is a directory",
				"/a.service is a directory",
			},
		},
		"on a host that joins nothing is made of a link": {
			join: true, tree: "l /a =/x\nl /b =/x\nl /c =/x", code: report.Failed,
			config: `{"storage":{"directories":[{"path":"/a"}],"files":[{"path":"/b"},{"path":"/c","append":[{"source":"data:,x"}]}]}}`,
			want: []string{
				"/a must be a directory, but a link to /x exists", "/b must be a file, but a link", "/c must be a file, but a link",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			tree, root := newTree(t, c.tree)
			before := listing(t, root)
			in := inputOf(t, tree, c.config, !c.join)
			if c.around != nil {
				in.Tree = c.around(tree)
			}
			decision, err := Decide(in)
			changes := changesOf(decision)
			var failure *report.Failure
			if !errors.As(err, &failure) || changes != nil {
				t.Fatalf("got %v, %v", formatChanges(changes), err)
			}
			if failure.Code != c.code || failure.Remedy == "" {
				t.Errorf("code %d, remedy %q", failure.Code, failure.Remedy)
			}
			for _, text := range c.want {
				if !strings.Contains(err.Error(), text) {
					t.Errorf("%q is not in: %v", text, err)
				}
			}
			if c.not != "" && strings.Contains(err.Error(), c.not) {
				t.Errorf("%q is in: %v", c.not, err)
			}
			if after := listing(t, root); after != before {
				t.Errorf("the tree was changed:\n%s", after)
			}
		})
	}
}

// Names that Ignition's own parser accepts.
func TestNamesWithSlashAreRejected(t *testing.T) {
	tree, _ := newTree(t, "")
	contents := "[Unit]\n"
	_, err := Decide(Input{Tree: tree, Strict: true, Units: []types.Unit{
		{Name: "../a.service", Contents: &contents},
		{Name: "b\nenable c.service"},
		{Name: "d.service", Dropins: []types.Dropin{{Name: "../../e.conf", Contents: &contents}}},
	}})
	for _, text := range []string{
		`unit "../a.service"`, `unit "b\nenable c.service"`, `drop-in "../../e.conf" of unit d.service`,
	} {
		if err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("%q is not in: %v", text, err)
		}
	}
}

func TestRemoteContentsAreRejected(t *testing.T) {
	tree, _ := newTree(t, "")
	source := "http://example.com/x"
	_, err := Decide(Input{Tree: tree, Strict: true, Storage: types.Storage{Files: []types.File{
		{Node: types.Node{Path: "/a"}, FileEmbedded1: types.FileEmbedded1{Contents: types.Resource{Source: &source}}},
		{Node: types.Node{Path: "/b"}, FileEmbedded1: types.FileEmbedded1{Append: []types.Resource{{Source: &source}}}},
	}}})
	_, noTarget := Decide(Input{Tree: tree, Storage: types.Storage{Links: []types.Link{{Node: types.Node{Path: "/l"}}}}})
	if noTarget == nil || !strings.Contains(noTarget.Error(), "link /l has no target") {
		t.Errorf("a link without a target: %v", noTarget)
	}
	for _, text := range []string{
		"the content of /a is not included in the config", "the appended content of /b is not included in the config",
	} {
		if err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("%q is not in: %v", text, err)
		}
	}
}

// An account that the config creates has no ID yet when a plan is printed.
func TestOwnerWithoutIDIsAccepted(t *testing.T) {
	tree, _ := newTree(t, "")
	in := inputOf(t, tree, `{"storage":{"files":[{"path":"/a","user":{"name":"new"}}]}}`, true)
	in.User = map[string]int{"new": -1}
	decision, err := Decide(in)
	must(t, err)
	changes := decision.Changes
	if len(changes) != 1 || *changes[0].Desired.UID != -1 {
		t.Errorf("got %v", formatChanges(changes))
	}
}
