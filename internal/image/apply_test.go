// SPDX-License-Identifier: Apache-2.0

package image

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostfs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/test/flowtest"
)

// CreateImage creates the tree of an image with a few files.
func CreateImage(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	for _, dir := range []string{"etc", "etc/systemd/system"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o755); err != nil { //nolint:gosec // as in an image
			t.Fatal(err)
		}
	}
	for name, content := range map[string]string{"etc/there": "theirs\n", "etc/same": "same\n"} {
		//nolint:gosec // as in an image
		if err := os.WriteFile(filepath.Join(root, name), []byte(content), 0o640); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

// storageConfig returns a config with the sections. OWNER in the sections is replaced by
// the user and group that run the test.
func storageConfig(sections string) string {
	owner := fmt.Sprintf(`"user":{"id":%d},"group":{"id":%d}`, os.Geteuid(), os.Getegid())
	return `{"ignition":{"version":"3.2.0"},"storage":{` + strings.ReplaceAll(sections, "OWNER", owner) + `}}`
}

func TestApplyWritesAConfig(t *testing.T) {
	root := CreateImage(t)
	config := storageConfig(`
		"directories":[{"path":"/etc/new.d","mode":488,OWNER}],
		"files":[
			{"path":"/etc/new.d/a","mode":384,"contents":{"source":"data:,secret"},OWNER},
			{"path":"/etc/there","overwrite":true,"mode":420,"contents":{"source":"data:,ours"},OWNER},
			{"path":"/etc/same","overwrite":true,"mode":416,"contents":{"source":"data:,same%0A"},OWNER}],
		"links":[{"path":"/etc/link","target":"/etc/new.d/a",OWNER}]`)
	document, err := Apply(t.Context(), Options{Payload: "-", Stdin: strings.NewReader(config), Root: root})
	if err != nil || document.Changes != 4 || document.Entries != 5 || document.Root != root {
		t.Fatalf("%+v, %v", document, err)
	}
	want := []string{
		"/etc drwxr-xr-x", "/etc/link -> /etc/new.d/a", "/etc/new.d drwxr-x---", "/etc/new.d/a -rw------- secret",
		"/etc/same -rw-r----- same", "/etc/systemd drwxr-xr-x", "/etc/systemd/system drwxr-xr-x",
		"/etc/there -rw-r--r-- ours",
	}
	if diff := cmp.Diff(want, flowtest.ListTree(t, root)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	document, err = Apply(t.Context(), Options{Payload: flowtest.WriteTempFile(t, []byte(config)), Root: root})
	if err != nil || document.Changes != 0 || document.Entries != 5 {
		t.Errorf("again: %+v, %v", document, err)
	}
}

// Files with secrets get the modes of a join. Shells of all users read the files in /etc/profile.d.
func TestApplyRestrictsSecrets(t *testing.T) {
	root := CreateImage(t)
	const secret = `"mode":420,"contents":{"source":"data:,HTTP_PROXY=http://user:hunter2@proxy:3128"},OWNER` //nolint:gosec // an example
	config := storageConfig(`"files":[{"path":"/etc/mco/proxy.env",` + secret + `},{"path":"/etc/profile.d/proxy.sh",` +
		secret + `},
		{"path":"/etc/plain","mode":420,"contents":{"source":"data:,plain"},OWNER}]`)
	var logged flowtest.Events
	if _, err := Apply(t.Context(), Options{
		Payload: "-",
		Stdin:   strings.NewReader(config),
		Root:    root,
		Sink:    &logged,
	}); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]os.FileMode{
		"etc/mco/proxy.env":      0o600,
		"etc/profile.d/proxy.sh": 0o644,
		"etc/plain":              0o644,
	} {
		info, err := os.Stat(filepath.Join(root, name))
		if err != nil || info.Mode() != want {
			t.Errorf("%s: mode %v, %v", name, info.Mode(), err)
		}
	}
	if text := strings.Join(logged, "\n"); !strings.Contains(text, "/etc/mco/proxy.env: contains a password") {
		t.Errorf("printed %q", logged)
	}
}

func TestApplyFailsAndChangesNothing(t *testing.T) {
	const there = `{"path":"/etc/there","contents":{"source":"data:,ours"},OWNER}`
	const fresh = `{"path":"/etc/fresh","contents":{"source":"data:,fresh"},OWNER}`
	gone := filepath.Join(t.TempDir(), "gone")
	for name, test := range map[string]struct {
		config string
		root   string // "" for a new image
		code   report.Code
		want   string
		remedy string
	}{
		"a file exists": {
			storageConfig(`"files":[` + fresh + `,` + there + `]`), "", report.Failed, "/etc/there", "overwrite: true",
		},
		"a link is in its way": {
			storageConfig(`"files":[` + fresh + `],"links":[{"path":"/etc/there","target":"/x",OWNER}]`), "", report.Failed,
			"/etc/there", "overwrite: true",
		},
		"a directory exists": {
			storageConfig(`"files":[` + fresh + `,{"path":"/etc/systemd","contents":{"source":"data:,a"},OWNER}]`), "",
			report.Failed, "/etc/systemd", "overwrite: true",
		},
		"a file is a parent": {
			storageConfig(`"files":[` + fresh + `,{"path":"/etc/there/below",OWNER}]`), "", report.Failed, "/etc/there", "",
		},
		"no config": {"hello", "", report.Usage, "the input is not JSON", "# correct the config"},
		"empty":     {"", "", report.Usage, "standard input is empty", ""},
		"what it cannot do": {
			`{"ignition":{"version":"3.2.0"},"storage":{"filesystems":[{"device":"/dev/sda","format":"ext4"}]}}`, "",
			report.Usage, "storage.filesystems", "",
		},
		"the running host": {
			storageConfig(`"files":[` + fresh + `]`), "/", report.Usage, "--root is the root directory of the running host",
			"hcp-node-agent join",
		},
		"the same by another name": {
			storageConfig(`"files":[` + fresh + `]`), "/proc/self/root", report.Usage,
			"--root is the root directory of the running host", "hcp-node-agent join",
		},
		"the same with dots": {
			storageConfig(`"files":[` + fresh + `]`), "/etc/..", report.Usage,
			"--root is the root directory of the running host", "hcp-node-agent join",
		},
		"no such root": {
			storageConfig(`"files":[` + fresh + `]`), gone, report.Usage, "--root: stat " + gone + ": no such file", "",
		},
		"a link with a NUL byte": {
			storageConfig(`"files":[` + fresh + `],"links":[{"path":"/etc/link","target":"a\u0000b",OWNER}]`), "", report.Usage,
			`target "a\x00b" of link /etc/link contains a NUL byte`, "# correct the entries in the config",
		},
		"an owner without name": {
			`{"ignition":{"version":"3.2.0"},"storage":{"files":[{"path":"/etc/fresh","user":{"name":"nobody-knows"}}]}}`, "",
			report.Usage, "nobody-knows", "correct the entries",
		},
	} {
		t.Run(name, func(t *testing.T) {
			root := test.root
			if root == "" {
				root = CreateImage(t)
			}
			var before []string
			if test.root == "" {
				before = flowtest.ListTree(t, root)
			}
			document, err := Apply(t.Context(), Options{Payload: "-", Stdin: strings.NewReader(test.config), Root: root})
			if err == nil || !strings.Contains(err.Error(), test.want) || report.CodeOf(err) != test.code ||
				!strings.Contains(string(report.RemedyOf(err)), test.remedy) {
				t.Errorf("error %v, code %d, remedy %q", err, report.CodeOf(err), report.RemedyOf(err))
			}
			if document.Changes != 0 {
				t.Errorf("it says that it changed %d things", document.Changes)
			}
			if test.root != "" {
				return
			}
			if diff := cmp.Diff(before, flowtest.ListTree(t, root)); diff != "" {
				t.Errorf("(-before +after):\n%s", diff)
			}
		})
	}
	if _, err := os.Lstat("/etc/fresh"); err == nil {
		t.Fatal("the running host was written to")
	}
}

// A failure must roll back the changes made before it, even if ctx has ended.
func TestWriteRollsBackOnFailure(t *testing.T) {
	root := CreateImage(t)
	tree, err := hostfs.OpenTree(root)
	if err != nil {
		t.Fatal(err)
	}
	defer tree.Close()
	before := flowtest.ListTree(t, root)
	withoutTimes := func(s ledger.State) ledger.State {
		uid, gid := os.Geteuid(), os.Getegid()
		s.UID, s.GID = &uid, &gid
		return s
	}
	changes := []ledger.Change{
		{Kind: ledger.Directory, Target: "/etc/made", Desired: withoutTimes(ledger.DirectoryState(0o755))},
		{Kind: ledger.Symlink, Target: "/etc/link", Desired: ledger.State{Present: true, Link: "/x"}},
		{
			Kind:      ledger.File,
			Target:    "/etc/there",
			Desired:   withoutTimes(ledger.FileState([]byte("ours"), 0o600)),
			Overwrite: true,
		},
		// the last change fails
		{Kind: ledger.HardLink, Target: "/etc/again", Desired: ledger.State{Present: true, Link: "/etc/none"}},
	}
	apply := func(ctx context.Context, changes []ledger.Change) error {
		i, err := openImage(t.Context(), tree, report.Log{})
		if err != nil {
			t.Fatal(err)
		}
		_, err = i.ledger.Apply(ctx, "entries", changes)
		return errors.Join(err, i.rollBack(t.Context()))
	}
	if err := apply(t.Context(), changes); err == nil || !strings.Contains(err.Error(), "/etc/none") {
		t.Errorf("it has not failed: %v", err)
	}
	if diff := cmp.Diff(before, flowtest.ListTree(t, root)); diff != "" {
		t.Errorf("after a failure (-before +after):\n%s", diff)
	}
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	if err := apply(canceled, changes[:3]); !errors.Is(err, context.Canceled) {
		t.Errorf("interrupted: %v", err)
	}
	if diff := cmp.Diff(before, flowtest.ListTree(t, root)); diff != "" {
		t.Errorf("after an interruption (-before +after):\n%s", diff)
	}
}

// openTestImage opens the tree in root for changes.
func openTestImage(t *testing.T, root string) *imageTree {
	t.Helper()
	tree, err := hostfs.OpenTree(root)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tree.Close() })
	i, err := openImage(t.Context(), tree, report.Log{})
	if err != nil {
		t.Fatal(err)
	}
	return i
}

// An apply must roll back what a killed apply of another config has written.
func TestApplyRollsBackAKilledApply(t *testing.T) {
	root, expected := CreateImage(t), CreateImage(t)
	i := openTestImage(t, root)
	killed := ledger.FileState([]byte("of the killed one"), 0o600)
	if _, err := i.ledger.Apply(t.Context(), "entries",
		[]ledger.Change{{Kind: ledger.File, Target: "/etc/there", Desired: killed}}); err != nil {
		t.Fatal(err)
	}
	i.close() // simulates a kill: neither committed nor rolled back
	config := storageConfig(`"files":[{"path":"/etc/fresh","contents":{"source":"data:,fresh"},OWNER}]`)
	for _, at := range []string{root, expected} {
		if _, err := Apply(t.Context(), Options{Payload: "-", Stdin: strings.NewReader(config), Root: at}); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(flowtest.ListTree(t, expected), flowtest.ListTree(t, root)); diff != "" {
		t.Errorf("(-without a killed one +with it):\n%s", diff)
	}
}
