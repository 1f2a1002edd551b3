// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// rewriting is a ledger of a host whose file /etc/secret is rewritten with new contents.
type rewriting struct {
	*Ledger

	root string
}

func startRewriting(t *testing.T) *rewriting {
	t.Helper()
	r := &rewriting{root: populate(t)}
	r.Ledger = open(t, t.TempDir(), r.root)
	r.drivers.IsMaintained = func(target string, content []byte) bool {
		return target == "/etc/secret" && strings.HasPrefix(string(content), "secret")
	}
	return r
}

func (r *rewriting) path() string { return filepath.Join(r.root, "etc/secret") }

// payload returns the change that writes the file of a payload.
func (r *rewriting) payload(content string) []Change {
	return []Change{{Kind: File, Target: "/etc/secret", Desired: ownedByTest(FileState([]byte(content), 0o600))}}
}

// check checks the content of the file, that it is no drift, and that a join keeps it with one payload but not with
// another.
func (r *rewriting) check(t *testing.T, when, want, kept, replacing string) {
	t.Helper()
	content, err := os.ReadFile(r.path())
	must(t, err)
	info, err := os.Stat(r.path())
	must(t, err)
	drift, err := r.Drift(t.Context())
	must(t, err)
	same, err := r.Diff(t.Context(), r.payload(kept))
	must(t, err)
	other, err := r.Diff(t.Context(), r.payload(replacing))
	must(t, err)
	if string(content) != want || info.Mode() != 0o600 || len(drift)+len(same) > 0 || len(other) != 1 {
		t.Errorf("%s: %q with mode %v, drift %v, pending %v and with another payload %v", when, content, info.Mode(), drift,
			same, other)
	}
	if copies, _ := filepath.Glob(filepath.Join(r.root, "etc/*secret*")); !slices.Equal(copies, []string{r.path()}) {
		t.Errorf("%s: copies of the secret remain: %v", when, copies)
	}
	if left, _ := filepath.Glob(filepath.Join(r.root, "etc/.hcp-node-agent.*")); len(left) > 0 {
		t.Errorf("%s: temporary files remain: %v", when, left)
	}
}

func TestRewrite(t *testing.T) {
	r := startRewriting(t)
	_, err := r.Apply(t.Context(), "files", r.payload("secret of the payload\n"))
	must(t, err)
	for _, renewed := range []string{"secret 2\n", "secret 3\n", "secret of the payload\n", "secret 4\n"} {
		must(t, r.Rewrite(t.Context(), "files", "/etc/secret", []byte("secret of the payload\n"), []byte(renewed)))
		r.check(t, "renewed", renewed, "secret of the payload\n", "secret of the next payload\n")
	}
	// The next payload had the same content as the renewed file, so that the join had nothing to write.
	must(t, r.Rewrite(t.Context(), "files", "/etc/secret", []byte("secret 4\n"), []byte("secret 5\n")))
	r.check(t, "after another payload", "secret 5\n", "secret 4\n", "secret of the payload\n")
	_, err = r.Apply(t.Context(), "files", r.payload("secret 6\n"))
	must(t, err)
	r.check(t, "a newer payload", "secret 6\n", "secret 6\n", "secret 5\n")
	_, err = r.Undo(t.Context())
	must(t, err)
	if _, err := os.Stat(r.path()); !os.IsNotExist(err) {
		t.Errorf("after the undo: %v", err)
	}
}

// A file that the join found as the payload requires it is not in the ledger. On RHEL CoreOS, Ignition has written it.
func TestRewriteOfAFileThatTheJoinDidNotWrite(t *testing.T) {
	r := startRewriting(t)
	must(t, os.WriteFile(r.path(), []byte("secret of the payload\n"), 0o600))
	must(t, r.Rewrite(t.Context(), "files", "/etc/secret", []byte("secret of the payload\n"), []byte("secret 2\n")))
	r.check(t, "renewed", "secret 2\n", "secret of the payload\n", "secret of the next payload\n")
	_, err := r.Undo(t.Context())
	must(t, err)
	if content, _ := os.ReadFile(r.path()); string(content) != "secret of the payload\n" {
		t.Errorf("after the undo: %q", content)
	}
}

// An interrupted run leaves nothing behind: neither a temporary file nor, in the end, another content.
func TestRewriteAfterAnInterruption(t *testing.T) {
	r := startRewriting(t)
	_, err := r.Apply(t.Context(), "files", r.payload("secret of the payload\n"))
	must(t, err)
	seq, err := r.recordIntent(record{Step: "files"}, []PlannedChange{{Change: r.payload("secret 2\n")[0]}})
	must(t, err)
	if seq == 0 {
		t.Error("the intent has no number")
	}
	batch := r.drivers.Paths.Tree.NewBatch() // of a process that was killed before the rename
	must(t, r.drivers.Paths.setOne(batch, PlannedChange{Change: r.payload("secret 3\n")[0]}, nil))
	must(t, r.Rewrite(t.Context(), "files", "/etc/secret", []byte("secret 2\n"), []byte("secret 3\n")))
	r.check(t, "after the interruption", "secret 3\n", "secret 2\n", "secret of the payload\n")
}

func TestRewriteRefuses(t *testing.T) {
	r := startRewriting(t)
	payload := []byte("secret of the payload\n")
	if err := r.Rewrite(t.Context(), "files", "/etc/secret", payload, []byte("secret 2\n")); err == nil {
		t.Error("a file that does not exist was written")
	}
	_, err := r.Apply(t.Context(), "files", r.payload(string(payload)))
	must(t, err)
	if err := r.Rewrite(t.Context(), "files", "/etc/secret", payload, []byte("no secret\n")); err == nil {
		t.Error("a content that is not valid was written")
	}
	r.check(t, "refused", string(payload), string(payload), "secret 2\n")
}
