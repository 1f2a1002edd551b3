package ledger

import (
	"slices"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host"
)

// verdict is what an undo does with one thing.
type verdict string

const (
	nothing verdict = "nothing" // it is as it was
	restore verdict = "restore"
	keep    verdict = "keep" // somebody else changed it since: theirs stays
)

// judge decides from how the thing was, how it was wished, and how it is. A run
// that was killed, also one of an undo, can have left a path as it was, as
// wished, or with the content of the one and some attributes of the other; and
// what an earlier run made can still be there. Everything else is somebody
// else's. Of what is no path, or was made by others in a bracket, that is only
// known after a run that ended well.
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

// made tells whether what is there is what a wish led to.
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

// judgeRemoval: only where nothing is can a thing come back without a loss.
func (i Item) judgeRemoval(now State) verdict {
	switch {
	case !now.Present:
		return restore
	case !i.Before.Present:
		return nothing // it was not there, and is not wished
	}
	return keep
}

// ours tells whether what is there can be what a run left that was killed.
func (i Item) ours(now State) bool {
	if !now.Present {
		return !i.Done // after a run that ended well it was somebody who removed it
	}
	if i.Kind == Directory && now.Type == string(host.Directory) && !i.Before.Present {
		return true // it only goes when it is empty
	}
	content := i.asBefore(now) || i.asWished(now)
	if !i.Done {
		return content
	}
	return content && i.mixed(now)
}

// asBefore and asWished compare only what is in a thing: the content of a file,
// the target of a link.
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
			want = digest(nil) // only attributes are wished: the file was made empty, or kept its content
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

// mixed tells whether each attribute is that of before or the wished one; a
// change of the owner clears setuid and setgid.
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
