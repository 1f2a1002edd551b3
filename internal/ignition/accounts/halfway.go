package accounts

import (
	"reflect"

	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
)

// Halfway says that a user is given back file by file, passwd last.
func (d *Users) Halfway(c ledger.Change, before, now ledger.State) (bool, error) {
	return halfway(c, before, now, passwdFile)
}

// Halfway says that a group is given back in gshadow, and then in group.
func (d *Groups) Halfway(c ledger.Change, before, now ledger.State) (bool, error) {
	return halfway(c, before, now, groupFile)
}

// halfway tells whether some files have an account as it was and others as it
// was wished; last is the file that is written in the end.
func halfway(c ledger.Change, before, now ledger.State, last string) (bool, error) {
	if !c.Want.Present {
		s, err := decodeSnapshot(now.Content)
		return !s.was(last), err
	}
	if !now.Present {
		return false, nil
	}
	want, err := wishOf(c)
	if err != nil {
		return false, err
	}
	is, err := wishOf(ledger.Change{Kind: c.Kind, Target: c.Target, Want: now})
	if err != nil {
		return false, err
	}
	if !before.Present {
		return is.New != nil && is.New.Half && want.sameLine(is), nil
	}
	was, err := wishOf(ledger.Change{Kind: c.Kind, Target: c.Target, Want: before})
	return is.between(was, want), err
}

// sameLine compares what the last file holds; that of the others is gone by then.
func (a account) sameLine(b account) bool {
	a.Groups, b.Groups, a.Password, b.Password, a.New, b.New = nil, nil, "", "", nil, nil
	return reflect.DeepEqual(a, b)
}

// between tells whether each field is as in the one or the other.
func (a account) between(one, other account) bool {
	either := func(now, one, other any) bool { return reflect.DeepEqual(now, one) || reflect.DeepEqual(now, other) }
	return either(a.UID, one.UID, other.UID) && either(a.GID, one.GID, other.GID) &&
		either(a.Gecos, one.Gecos, other.Gecos) && either(a.Home, one.Home, other.Home) && either(a.Shell, one.Shell, other.Shell) &&
		either(a.PrimaryGroup, one.PrimaryGroup, other.PrimaryGroup) && either(a.Groups, one.Groups, other.Groups) &&
		either(a.Password, one.Password, other.Password)
}
