// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"testing"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostfs"
)

// observedState returns a state as Paths.Get returns it.
func observedState(kind hostfs.FileType, content string, mode uint32, uid int) State {
	gid := 0
	s := State{Present: true, Type: kind, Mode: &mode, UID: &uid, GID: &gid}
	switch kind {
	case "file":
		s.Digest, s.Size = digest([]byte(content)), int64(len(content))
	case "link":
		s.Link, s.Mode = content, nil
	}
	return s
}

// The action of an undo after a completed run (done) and after an interrupted run (killed).
// The original file /x has the content "old" and mode 4755 of user 0. The desired file has
// the content "new" and mode 0644 of user 5.
func TestUndoAction(t *testing.T) {
	mode, uid := uint32(0o644), 5
	old := observedState("file", "old", 0o4755, 0)
	change := Change{Kind: File, Target: "/x", Desired: State{
		Present: true, Digest: digest([]byte("new")), Mode: &mode, UID: &uid,
	}}
	attributes := Change{Kind: File, Target: "/x", Desired: State{Present: true, Mode: &mode, UID: &uid}}
	link := Change{Kind: Symlink, Target: "/x", Desired: State{Present: true, Link: "/new"}}
	hard := Change{Kind: HardLink, Target: "/x", Desired: State{Present: true, Link: "/y"}}
	dir := Change{Kind: Directory, Target: "/x", Desired: State{Present: true, Mode: &mode, UID: &uid}}
	linked := old
	linked.Link = "/y"
	for name, test := range map[string]struct {
		change       Change
		before, now  State
		done, killed undoAction
	}{
		"file as it was":                 {change, old, old, noAction, noAction},
		"file as desired":                {change, old, observedState("file", "new", 0o644, 5), restoreAction, restoreAction},
		"file with a stranger's content": {change, old, observedState("file", "theirs", 0o644, 5), keepAction, keepAction},
		"file removed":                   {change, old, State{}, keepAction, restoreAction},
		"file, its place taken by a directory": {
			change, old, observedState("directory", "", 0o755, 0), keepAction,
			keepAction,
		},
		"file, its place taken by a link": {change, old, observedState("link", "/theirs", 0, 0), keepAction, keepAction},
		"file with a stranger's mode":     {change, old, observedState("file", "new", 0o600, 5), keepAction, restoreAction},
		"file half given its attributes": {
			change, old, observedState("file", "old", 0o755, 5), restoreAction, restoreAction,
		},
		"new file as desired": {
			change, State{}, observedState("file", "new", 0o644, 5), restoreAction, restoreAction,
		},
		"new file, changed since": {
			change, State{}, observedState("file", "theirs", 0o644, 5), keepAction, keepAction,
		},
		"new file, gone": {change, State{}, State{}, noAction, noAction},
		"empty file made": {
			attributes, State{}, observedState("file", "", 0o644, 5), restoreAction, restoreAction,
		},
		"empty file made, filled since": {
			attributes,
			State{},
			observedState("file", "theirs", 0o644, 5), keepAction,
			keepAction,
		},
		"attributes set, content changed": {
			attributes, old, observedState("file", "theirs", 0o644, 5), keepAction,
			keepAction,
		},
		"attributes set":          {attributes, old, observedState("file", "old", 0o644, 5), restoreAction, restoreAction},
		"attributes half set":     {attributes, old, observedState("file", "old", 0o755, 5), restoreAction, restoreAction},
		"attributes a stranger's": {attributes, old, observedState("file", "old", 0o600, 0), keepAction, restoreAction},
		"link as desired":         {link, old, observedState("link", "/new", 0, 0), restoreAction, restoreAction},
		"link to elsewhere":       {link, old, observedState("link", "/theirs", 0, 0), keepAction, keepAction},
		"link, not made yet": {
			link, observedState("link", "/old", 0, 0), observedState("link", "/old", 0, 0), noAction,
			noAction,
		},
		"link, the old one of another user": {
			link, observedState("link", "/old", 0, 0), observedState("link", "/old", 0, 7),
			keepAction, restoreAction,
		},
		"hard link made":                    {hard, old, linked, restoreAction, restoreAction},
		"hard link made, then another file": {hard, old, observedState("file", "theirs", 0o644, 0), keepAction, keepAction},
		"hard link not made":                {hard, old, old, noAction, noAction},
		"directory made": {
			dir, State{}, observedState("directory", "", 0o644, 5), restoreAction, restoreAction,
		},
		"directory made, attributes changed": {
			dir,
			State{},
			observedState("directory", "", 0o700, 7), restoreAction,
			restoreAction,
		},
		"directory half given its attributes": {
			dir, observedState("directory", "", 0o755, 0),
			observedState("directory", "", 0o755, 5), restoreAction, restoreAction,
		},
		"directory, attributes a stranger's": {
			dir, observedState("directory", "", 0o755, 0),
			observedState("directory", "", 0o700, 0), keepAction, restoreAction,
		},
		"directory, replaced by a file": {dir, State{}, observedState("file", "theirs", 0o644, 0), keepAction, keepAction},
		"removed":                       {Change{Kind: File, Target: "/x"}, old, State{}, restoreAction, restoreAction},
		"removed, and another exists": {
			Change{Kind: File, Target: "/x"},
			old, observedState("file", "theirs", 0o644, 0),
			keepAction, keepAction,
		},
		"removed, and a directory exists": {
			Change{Kind: File, Target: "/x"},
			old, observedState("directory", "", 0o755, 0),
			keepAction, keepAction,
		},
		"did not exist and is not desired": {
			Change{Kind: File, Target: "/x"},
			State{},
			observedState("directory", "", 0o755, 0), noAction, noAction,
		},
		"no path: as desired": {
			Change{Kind: Sysctl, Desired: State{Present: true, Value: "1"}},
			State{Present: true, Value: "0"},
			State{Present: true, Value: "1"},
			restoreAction, restoreAction,
		},
		"no path: foreign or incomplete": {
			Change{Kind: Sysctl, Desired: State{Present: true, Value: "1"}},
			State{Present: true, Value: "0"},
			State{Present: true, Value: "2"},
			keepAction, restoreAction,
		},
	} {
		t.Run(name, func(t *testing.T) {
			item := Item{Change: test.change, Before: test.before, Done: true}
			if got := item.decide(test.now); got != test.done {
				t.Errorf("done: %s, want %s", got, test.done)
			}
			item.Done = false
			if got := item.decide(test.now); got != test.killed {
				t.Errorf("killed: %s, want %s", got, test.killed)
			}
		})
	}
}

// The desired state of an external change is undefined: after an interrupted run, an undo
// restores the original.
func TestUndoActionOfExternalChange(t *testing.T) {
	before := observedState("link", "/old", 0, 0)
	item := Item{Change: Change{Kind: Symlink, Target: "/x"}, Before: before, external: true}
	for _, now := range []State{{}, observedState("link", "/made-by-others", 0, 0)} {
		if got := item.decide(now); got != restoreAction {
			t.Errorf("killed, now %s: %s", now, got)
		}
	}
	item.Done, item.Desired = true, observedState("link", "/made-by-others", 0, 0)
	if got := item.decide(observedState("link", "/changed-since", 0, 0)); got != keepAction {
		t.Errorf("done and changed since: %s", got)
	}
}

func TestUndoActionAfterEarlierRuns(t *testing.T) {
	first := observedState("file", "first", 0o644, 0)
	item := Item{
		Change: Change{Kind: File, Target: "/x", Desired: observedState("file", "second", 0o644, 0)},
		Before: observedState("file", "old", 0o644, 0),
	}
	for _, done := range []bool{false, true} {
		item.Done, item.earlierDesired = done, nil
		if got := item.decide(first); got != keepAction {
			t.Errorf("not ours: %s", got)
		}
		item.earlierDesired = []State{first}
		if got := item.decide(first); got != restoreAction {
			t.Errorf("of an earlier run: %s", got)
		}
	}
	item.Desired = State{} // removal requested, but the run was interrupted before it
	if got := item.decide(first); got != restoreAction {
		t.Errorf("not removed yet: %s", got)
	}
}
