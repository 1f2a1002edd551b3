// SPDX-License-Identifier: Apache-2.0

package entries

import (
	"os"
	"strings"
	"testing"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// Entries below a directory that a user can write to are not created at the target of that
// user's symbolic links.
func TestUserLinksToForeignFilesAreNotFollowed(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("giving files to other owners needs root")
	}
	const home = "d /etc\nd /home/u 0755 1000:1000\nd /home/u/own 0755 1000:1000\nf /root/.ssh/authorized_keys =root\n"
	file := func(p string) string {
		return `{"storage":{"files":[{"path":"` + p +
			`","overwrite":true,"user":{"id":1000},"contents":{"source":"data:,x"}}]}}`
	}
	for name, c := range map[string]struct {
		tree, config string
		want         string // the created file, or the error
	}{
		"an own directory": {config: file("/home/u/own/f"), want: "file /home/u/own/f"},
		"a new directory": {
			config: file("/home/u/.ssh/authorized_keys.d/ignition"),
			want:   "file /home/u/.ssh/authorized_keys.d/ignition",
		},
		"a directory of root in it": {
			tree:   "d /home/u/of-root",
			config: file("/home/u/of-root/f"),
			want:   "file /home/u/of-root/f",
		},
		"a link to an own directory": {
			tree:   "l /home/u/l 1000:1000 =own",
			config: file("/home/u/l/f"),
			want:   "file /home/u/own/f",
		},
		"a link of root to a home": {tree: "l /link =home/u", config: file("/link/own/f"), want: "file /home/u/own/f"},
		"a link to /etc": {
			tree:   "l /home/u/l 1000:1000 =../../etc",
			config: file("/home/u/l/sudoers.d/f"),
			want:   "link l of user 1000",
		},
		"an absolute link": {
			tree:   "l /home/u/.ssh 1000:1000 =/root/.ssh",
			config: file("/home/u/.ssh/authorized_keys"),
			want:   "link .ssh of user 1000",
		},
		"a link to where nothing is": {
			tree:   "l /home/u/l 1000:1000 =/etc/new",
			config: file("/home/u/l/f"),
			want:   "link l of user 1000",
		},
		"a link that ends with dots": {
			tree:   "l /home/u/l 1000:1000 =own/../..",
			config: file("/home/u/l/f"),
			want:   "link l of user 1000",
		},
		"a link of root in the home": {tree: "l /home/u/l =/etc", config: file("/home/u/l/f"), want: "link l of user 1000"},
		"a link over a link, from far": {
			tree:   "l /home/u/l 1000:1000 =/etc\nl /far =home/u/l",
			config: file("/far/f"),
			want:   "link l of user 1000",
		},
	} {
		for _, strict := range []bool{false, true} {
			tree, _ := newTree(t, home+c.tree)
			decision, err := Decide(inputOf(t, tree, c.config, strict))
			changes := changesOf(decision)
			if strings.HasPrefix(c.want, "link") {
				if err == nil || !strings.Contains(err.Error(), c.want) ||
					!strings.HasPrefix(string(report.RemedyOf(err)), "namei -l /") {
					t.Errorf("%s: error %v, remedy %q", name, err, report.RemedyOf(err))
				}
				continue
			}
			if err != nil || !strings.HasPrefix(strings.Join(formatChanges(changes), "; "), c.want) {
				t.Errorf("%s: %q, %v", name, formatChanges(changes), err)
				continue
			}
			_, err = openLedger(t, tree).Apply(t.Context(), "files", changes)
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}
