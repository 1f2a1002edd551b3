package ledger

import (
	"slices"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostfs"
)

// undoAction is the action of an undo for one object.
type undoAction string

const (
	noAction      undoAction = "nothing" // already in its original state
	restoreAction undoAction = "restore"
	keepAction    undoAction = "keep" // changed by others since
)

// decide returns the action for an object with the current state now. An interrupted run or
// undo can leave a path in its original or desired state, or with the content of one state
// and some attributes of the other. The result of an earlier run can also remain. Any other
// state is foreign. For external changes and objects that are not paths, this is known only
// after a completed run.
func (i Item) decide(now State) undoAction {
	switch {
	case isIdentical(now, i.Before):
		return noAction
	case !i.isPath(), i.external:
		if i.Done && !i.Matches(now) {
			return keepAction
		}
		return restoreAction
	case i.isResultOfApply(now):
		return restoreAction
	case !i.Desired.Present:
		return i.decideRemoval(now)
	}
	return keepAction
}

// isResultOfApply reports whether the current state is the result of a desired state of this or an
// earlier run.
func (i Item) isResultOfApply(now State) bool {
	for _, wish := range append([]State{i.Desired}, i.earlierDesired...) {
		if wish.Present {
			i.Desired = wish
			if (i.Matches(now) && i.hasDesiredContent(now)) || i.isLeftByInterruptedRun(now) {
				return true
			}
		}
	}
	return false
}

// decideRemoval returns the action for an object that the agent removed. Restoring over an
// existing object would lose data.
func (i Item) decideRemoval(now State) undoAction {
	switch {
	case !now.Present:
		return restoreAction
	case !i.Before.Present:
		return noAction // did not exist, and must not
	}
	return keepAction
}

// isLeftByInterruptedRun reports whether the current state may have been left by an interrupted run.
func (i Item) isLeftByInterruptedRun(now State) bool {
	if !now.Present {
		return !i.Done // after a completed run, another process removed it
	}
	if i.Kind == Directory && now.Type == string(hostfs.Directory) && !i.Before.Present {
		return true // an undo removes it only if it is empty
	}
	content := i.hasOriginalContent(now) || i.hasDesiredContent(now)
	if !i.Done {
		return content
	}
	return content && i.hasKnownAttributes(now)
}

// hasOriginalContent reports whether the content of a file, or the target of a link, is the original.
func (i Item) hasOriginalContent(now State) bool {
	return i.Before.Present && i.Before.Type == now.Type && i.Before.Digest == now.Digest && i.Before.Link == now.Link
}

func (i Item) hasDesiredContent(now State) bool {
	if now.Type != i.fileType() {
		return false
	}
	switch i.Kind {
	case File:
		want := i.Desired.Digest
		if want == "" {
			// Only attributes change: the file was created empty or kept its content.
			want = digest(nil)
			if i.Before.Type == string(hostfs.Regular) {
				want = i.Before.Digest
			}
		}
		return now.Digest == want
	case Symlink, HardLink:
		return now.Link == i.Desired.Link && now.Value == i.Desired.Value
	}
	return true
}

// hasKnownAttributes reports whether each attribute has its original or its desired value. A change of
// the owner clears setuid and setgid.
func (i Item) hasKnownAttributes(now State) bool {
	const cleared = 0o6000
	before, want := i.Before, i.Desired
	if now.Mode != nil {
		modes := []*uint32{before.Mode, want.Mode}
		same := func(m *uint32) bool { return m != nil && (*m == *now.Mode || *m&^cleared == *now.Mode) }
		if !slices.ContainsFunc(modes, same) {
			return false
		}
	}
	return isOneOf(now.UID, before.UID, want.UID) && isOneOf(now.GID, before.GID, want.GID)
}

func isOneOf(now *int, known ...*int) bool {
	return now == nil || slices.ContainsFunc(known, func(id *int) bool { return id != nil && *id == *now })
}
