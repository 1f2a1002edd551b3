package ledger

import (
	"os"
	"path/filepath"
	"testing"
)

// The "After" states of a "done" record are used only for external changes.
func TestWrongAfterStateLosesNoFile(t *testing.T) {
	for name, after := range map[string]State{
		"present":            {Present: true},
		"absent":             {},
		"of another content": {Present: true, Type: "file", Digest: digest([]byte("false"))},
		"as before":          {Present: true, Type: "file", Digest: digest([]byte("original\n"))},
	} {
		t.Run(name, func(t *testing.T) {
			root, dir := populate(t), t.TempDir()
			k := expectedStates{before: snapshot(t, root)}
			l := open(t, dir, root)
			_, err := l.Apply(t.Context(), "files", []Change{
				{Kind: File, Target: "/etc/replaced", Desired: ownedByTest(FileState([]byte("ours\n"), 0o644))},
				{Kind: File, Target: "/etc/new", Desired: ownedByTest(FileState([]byte("ours\n"), 0o644))},
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
			k.checkUndo(t, l, workDir{root: root, dir: dir}, name)
		})
	}
}
