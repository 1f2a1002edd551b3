// SPDX-License-Identifier: Apache-2.0

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
	case !i.Kind.isPath(), i.external:
		if i.Done && !i.Matches(now) && !i.hasAcceptedValue(now) {
			return keepAction
		}
		return restoreAction
	case i.isResultOfApply(now):
		return restoreAction
	case i.Desired.Present:
		return keepAction
	case !now.Present:
		return restoreAction // removed by the agent
	case !i.Before.Present:
		return noAction // did not exist, and must not
	}
	return keepAction // restoring over an existing object would lose data
}

// isResultOfApply reports whether the current state is the result of a desired state of this or an
// earlier run.
func (i Item) isResultOfApply(now State) bool {
	for _, desired := range i.possibleResults() {
		i.Desired = desired
		if desired.Present && ((i.Matches(now) && i.hasDesiredContent(now)) || i.isLeftByInterruptedRun(now)) {
			return true
		}
	}
	return false
}

// isLeftByInterruptedRun reports whether the current state may have been left by an interrupted run.
func (i Item) isLeftByInterruptedRun(now State) bool {
	if !now.Present {
		return !i.Done // after a completed run, another process removed it
	}
	if i.Kind == Directory && now.Type == hostfs.Directory && !i.Before.Present {
		return true // an undo removes it only if it is empty
	}
	hasOriginalContent := i.Before.Present && i.Before.Type == now.Type &&
		i.Before.Digest == now.Digest && i.Before.Link == now.Link
	return (hasOriginalContent || i.hasDesiredContent(now)) && (!i.Done || i.hasKnownAttributes(now))
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
			if i.Before.Type == hostfs.Regular {
				want = i.Before.Digest
			}
		}
		return now.Digest == want
	case Symlink, HardLink:
		return now.Link == i.Desired.Link && now.Value == i.Desired.Value && emptyOrEqual(i.Desired.Digest, now.Digest)
	}
	return true
}

// hasKnownAttributes reports whether each attribute has its original or its desired value. A change of
// the owner clears setuid and setgid.
func (i Item) hasKnownAttributes(now State) bool {
	const cleared = 0o6000
	before, want := i.Before, i.Desired
	knownMode := now.Mode == nil || slices.ContainsFunc([]*uint32{before.Mode, want.Mode}, func(m *uint32) bool {
		return m != nil && (*m == *now.Mode || *m&^cleared == *now.Mode)
	})
	knownID := func(now, before, want *int) bool {
		return now == nil || (before != nil && *before == *now) || (want != nil && *want == *now)
	}
	return knownMode && knownID(now.UID, before.UID, want.UID) && knownID(now.GID, before.GID, want.GID)
}
