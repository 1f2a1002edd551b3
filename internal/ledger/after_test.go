package ledger

import (
	"os"
	"path/filepath"
	"testing"
)

// The "After" states of a "done" record are used only for external changes.
func TestAFalseOutcomeLosesNoFile(t *testing.T) {
	for name, after := range map[string]State{
		"present":            {Present: true},
		"absent":             {},
		"of another content": {Present: true, Type: "file", Digest: digest([]byte("false"))},
		"as before":          {Present: true, Type: "file", Digest: digest([]byte("original\n"))},
	} {
		t.Run(name, func(t *testing.T) {
			root, dir := populate(t), t.TempDir()
			k := kills{before: portrait(t, root)}
			l := open(t, dir, root)
			_, err := l.Apply(t.Context(), "files", []Change{
				{Kind: File, Target: "/etc/replaced", Want: own(FileState([]byte("ours\n"), 0o644))},
				{Kind: File, Target: "/etc/new", Want: own(FileState([]byte("ours\n"), 0o644))},
			})
			must(t, err)
			must(t, l.append(record{Type: done, Of: 1, After: []State{after, after}}, true))
			must(t, l.Close())
			l = open(t, dir, root)
			drift, err := l.Drift(t.Context())
			if err != nil || len(drift) != 2 && name != "present" {
				t.Errorf("drift %v, %v", drift, err)
			}
			if content, err := os.ReadFile(filepath.Join(root, "etc/replaced")); err != nil || string(content) != "ours\n" {
				t.Errorf("%q, %v", content, err)
			}
			k.giveBack(t, l, ground{root: root, dir: dir}, name)
		})
	}
}
