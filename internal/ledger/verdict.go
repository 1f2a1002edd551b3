package ledger

import (
	"slices"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host"
)

// verdict is the action of an undo for one object.
type verdict string

const (
	nothing verdict = "nothing" // already in its original state
	restore verdict = "restore"
	keep    verdict = "keep" // changed by others since
)

// judge returns the action for an object with the current state now. An interrupted run or
// undo can leave a path in its original or desired state, or with the content of one state
// and some attributes of the other. The result of an earlier run can also remain. Any other
// state is foreign. For external changes and objects that are not paths, this is known only
// after a completed run.
func (i Item) judge(now State) verdict {
	switch {
	case sameExactly(now, i.Before):
		return nothing
	case !i.onPath(), i.bracket:
		if i.Done && !i.Same(now) {
			return keep
		}
		return restore
	case i.made(now):
		return restore
	case !i.Want.Present:
		return i.judgeRemoval(now)
	}
	return keep
}

// made reports whether the current state is the result of a desired state of this or an
// earlier run.
func (i Item) made(now State) bool {
	for _, wish := range append([]State{i.Want}, i.earlier...) {
		if wish.Present {
			i.Want = wish
			if (i.Same(now) && i.asWished(now)) || i.ours(now) {
				return true
			}
		}
	}
	return false
}

// judgeRemoval returns the action for an object that the agent removed. Restoring over an
// existing object would lose data.
func (i Item) judgeRemoval(now State) verdict {
	switch {
	case !now.Present:
		return restore
	case !i.Before.Present:
		return nothing // did not exist, and must not
	}
	return keep
}

// ours reports whether the current state may have been left by an interrupted run.
func (i Item) ours(now State) bool {
	if !now.Present {
		return !i.Done // after a completed run, another process removed it
	}
	if i.Kind == Directory && now.Type == string(host.Directory) && !i.Before.Present {
		return true // an undo removes it only if it is empty
	}
	content := i.asBefore(now) || i.asWished(now)
	if !i.Done {
		return content
	}
	return content && i.mixed(now)
}

// asBefore reports whether the content of a file, or the target of a link, is the original.
func (i Item) asBefore(now State) bool {
	return i.Before.Present && i.Before.Type == now.Type && i.Before.Digest == now.Digest && i.Before.Link == now.Link
}

func (i Item) asWished(now State) bool {
	if now.Type != i.fileType() {
		return false
	}
	switch i.Kind {
	case File:
		want := i.Want.Digest
		if want == "" {
			// Only attributes change: the file was created empty or kept its content.
			want = digest(nil)
			if i.Before.Type == string(host.Regular) {
				want = i.Before.Digest
			}
		}
		return now.Digest == want
	case Link, HardLink:
		return now.Link == i.Want.Link && now.Value == i.Want.Value
	}
	return true
}

// mixed reports whether each attribute has its original or its desired value. A change of
// the owner clears setuid and setgid.
func (i Item) mixed(now State) bool {
	const cleared = 0o6000
	before, want := i.Before, i.Want
	if now.Mode != nil {
		modes := []*uint32{before.Mode, want.Mode}
		same := func(m *uint32) bool { return m != nil && (*m == *now.Mode || *m&^cleared == *now.Mode) }
		if !slices.ContainsFunc(modes, same) {
			return false
		}
	}
	return oneOf(now.UID, before.UID, want.UID) && oneOf(now.GID, before.GID, want.GID)
}

func oneOf(now *int, known ...*int) bool {
	return now == nil || slices.ContainsFunc(known, func(id *int) bool { return id != nil && *id == *now })
}
