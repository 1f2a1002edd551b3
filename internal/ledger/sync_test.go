// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostfs"
)

// manyChanges returns changes that replace, create and remove n files, and as many
// directories and links.
func manyChanges(t *testing.T, root string, n int) []Change {
	t.Helper()
	var changes []Change
	for i := range n {
		for _, name := range []string{"replaced", "removed"} {
			must(t, os.WriteFile(filepath.Join(root, fmt.Sprintf("%s-%d", name, i)), fmt.Appendf(nil, "old %d", i), 0o600))
		}
		changes = append(changes,
			Change{Kind: File, Target: fmt.Sprintf("/replaced-%d", i), Desired: ownedByTest(FileState([]byte("new"), 0o644))},
			Change{Kind: File, Target: fmt.Sprintf("/removed-%d", i)},
			Change{Kind: File, Target: fmt.Sprintf("/new-%d/file", i), Desired: ownedByTest(FileState([]byte("new"), 0o644))},
			Change{Kind: Symlink, Target: fmt.Sprintf("/link-%d", i), Desired: State{Present: true, Link: "x"}},
			Change{Kind: HardLink, Target: fmt.Sprintf("/hard-%d", i), Desired: State{
				Present: true,
				Link:    fmt.Sprintf("/replaced-%d", i),
			}})
	}
	return changes
}

const (
	syncsOf = "HCP_TEST_SYNCS_OF"
	syncsAt = "HCP_TEST_SYNCS_AT"
)

// docs/ledger.md promises the same number of syncs for 5 and for 50 files, and none for the tree of an image.
func TestSyncsDoNotGrowWithChanges(t *testing.T) {
	if verb, count, found := strings.Cut(os.Getenv(syncsOf), " "); found {
		n, err := strconv.Atoi(count)
		must(t, err)
		root := filepath.Join(os.Getenv(syncsAt), "root")
		must(t, os.MkdirAll(root, 0o700))
		changes := manyChanges(t, root, n)
		l := open(t, filepath.Join(os.Getenv(syncsAt), "ledger"), root)
		verb, ofImage := strings.CutPrefix(verb, "image-")
		if ofImage {
			l.drivers.Paths.Tree.SkipSyncs()
		}
		_, err = l.Apply(t.Context(), "files", changes)
		must(t, err)
		switch verb {
		case "discard":
			must(t, l.Discard())
		case "undo":
			_, err = l.Undo(t.Context())
			must(t, err)
		}
		return
	}
	if _, err := exec.LookPath("strace"); err != nil {
		t.Skip("strace, which counts system calls, is not installed (Debian: apt-get install strace)")
	}
	for _, n := range []int{5, 50} {
		apply, undo := countSyncs(t, "apply", n), countSyncs(t, "undo", n)
		// In order: originals written and renamed; header, and the ledger's directory
		// entries; intent; files written, and all in place; done.
		if diff := cmp.Diff(map[string]int{"fsync": 3, "syncfs": 5}, apply); diff != "" {
			t.Errorf("apply of %d (-want +got):\n%s", n, diff)
		}
		// In order: temporary files removed; old files written, and all in place; undone
		// records.
		if diff := cmp.Diff(map[string]int{"fsync": 4, "syncfs": 8}, undo); diff != "" {
			t.Errorf("apply and undo of %d (-want +got):\n%s", n, diff)
		}
	}
	for _, verb := range []string{"image-discard", "image-undo"} {
		if diff := cmp.Diff(map[string]int{}, countSyncs(t, verb, 5)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", verb, diff)
		}
	}
}

func countSyncs(t *testing.T, verb string, n int) map[string]int {
	t.Helper()
	trace := filepath.Join(t.TempDir(), "trace")
	command := exec.CommandContext(t.Context(), "strace", "-f", "--seccomp-bpf", "-qq", "-o", trace, "-e",
		"trace=fsync,fdatasync,syncfs,sync",
		os.Args[0], "-test.run=^"+t.Name()+"$")
	command.Env = append(os.Environ(), fmt.Sprintf("%s=%s %d", syncsOf, verb, n), syncsAt+"="+t.TempDir())
	if out, err := command.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	lines, err := os.ReadFile(trace)
	must(t, err)
	counts := map[string]int{}
	for line := range strings.Lines(string(lines)) {
		for _, call := range []string{"fsync", "fdatasync", "syncfs", "sync"} {
			if strings.Contains(line, " "+call+"(") {
				counts[call]++
			}
		}
	}
	return counts
}

// labelRecorder is a Labeler that records its calls and checks the labels when Relabel is called.
type labelRecorder struct {
	answer    map[string][]byte
	queried   map[string]hostfs.FileType
	relabeled []string
	tree      *hostfs.Tree
	t         *testing.T
}

func (l *labelRecorder) Labels(_ context.Context, types map[string]hostfs.FileType) (map[string][]byte, error) {
	l.queried = types
	return l.answer, nil
}

func (l *labelRecorder) Relabel(_ context.Context, paths []string) error {
	l.relabeled = paths
	for p, want := range map[string]string{
		"/etc/new": "new_t\x00", "/etc/replaced": "old_t\x00", "/d": "dir_t\x00",
		"/d/link": "link_t\x00",
	} {
		if info, err := l.tree.Lstat(p); err != nil || string(info.Xattrs["security.selinux"]) != want {
			l.t.Errorf("before the relabelling %s has %q, %v", p, info.Xattrs["security.selinux"], err)
		}
	}
	return nil
}

func TestFilesAreLabeledBeforeRename(t *testing.T) {
	requireRoot(t)
	if there, err := os.Stat("/sys/fs/selinux/enforce"); err == nil {
		t.Skipf("the kernel has SELinux (%s): it takes no label that its policy does not know", there.Name())
	}
	root := populate(t)
	tree, err := hostfs.OpenTree(root)
	must(t, err)
	defer tree.Close()
	must(t, tree.SetAttr("/etc/replaced",
		hostfs.Attr{Mode: 0o644, Xattrs: map[string][]byte{"security.selinux": []byte("old_t\x00")}}))
	policy := &labelRecorder{t: t, tree: tree, answer: map[string][]byte{
		"/etc/new": []byte("new_t\x00"),
		"/d":       []byte("dir_t\x00"), "/d/link": []byte("link_t\x00"),
	}}
	paths := &Paths{Tree: tree, SELinux: policy}
	l, err := Open(t.TempDir(), Drivers{Paths: paths})
	must(t, err)
	defer l.Close()
	_, err = l.Apply(t.Context(), "files", []Change{
		{Kind: File, Target: "/etc/new", Desired: FileState(nil, 0o600)},
		{Kind: File, Target: "/etc/replaced", Desired: FileState([]byte("ours"), 0o600)},
		{Kind: File, Target: "/etc/unwanted"},
		{Kind: Symlink, Target: "/d/link", Desired: State{Present: true, Link: "x"}},
		{Kind: HardLink, Target: "/etc/again", Desired: State{Present: true, Link: "/etc/new"}},
	})
	must(t, err)
	queried := map[string]hostfs.FileType{
		"/etc/new": hostfs.Regular, "/etc/replaced": hostfs.Regular,
		"/d": hostfs.Directory, "/d/link": hostfs.Symlink,
	}
	if diff := cmp.Diff(queried, policy.queried); diff != "" {
		t.Errorf("asked for (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"/etc/new", "/etc/replaced", "/d", "/d/link", "/etc/again"},
		policy.relabeled); diff != "" {
		t.Errorf("relabelled (-want +got):\n%s", diff)
	}
}

// A run that changes nothing writes nothing.
func TestNothingIsWrittenBeforeFirstIntent(t *testing.T) {
	root, dir := populate(t), t.TempDir()
	l := open(t, dir, root)
	same := Change{Kind: File, Target: "/etc/same", Desired: State{Present: true, Digest: digest([]byte("same\n"))}}
	if made, err := l.Apply(t.Context(), "files", []Change{same}); err != nil || len(made) > 0 {
		t.Fatalf("made %v, %v", made, err)
	}
	if info, err := os.Stat(filepath.Join(dir, "ledger.log")); err != nil || info.Size() > 0 {
		t.Errorf("the ledger holds %d bytes, %v", info.Size(), err)
	}
	must(t, l.Discard())
}

// The directory entries of the ledger are known to be durable only after a "done" record.
// An intent alone can be of a run that was killed before the sync.
func TestNamesAreSyncedUntilDoneRecord(t *testing.T) {
	root, dir := populate(t), t.TempDir()
	l := open(t, dir, root)
	must(t, l.append(record{Type: intent, Step: "files"}, false)) // killed before the sync
	must(t, l.Close())
	l = open(t, dir, root)
	if l.namesSynced || len(l.records) != 2 {
		t.Fatalf("named %t after %d records", l.namesSynced, len(l.records))
	}
	_, err := l.Apply(t.Context(), "files", testChanges())
	must(t, err)
	if !l.namesSynced {
		t.Error("something was made before the names were synced")
	}
	must(t, l.Close())
	if l = open(t, dir, root); !l.namesSynced {
		t.Error("the names would be synced again and again")
	}
}
