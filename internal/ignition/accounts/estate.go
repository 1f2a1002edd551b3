package accounts

import (
	"errors"
	"slices"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
)

// The most that a home may hold which is removed: all of it is kept for an
// undo.
const (
	maxHomeEntries = 20_000
	maxHomeBytes   = 512 << 20
)

// estate is what a user leaves behind who is removed.
type estate struct {
	Home    string // "" where there is none
	Owner   int
	Type    host.FileType // of the home
	Mount   string        // a file system that is mounted there
	Special string        // what cannot be given back
	Bytes   int64
	// Entries are the removals of the home: the deepest first, the home last.
	Entries []ledger.Change

	Mail      string // "" where there is none
	MailOwner int
}

func lookEstate(tree *host.Tree, defs settings, user, home string) (estate, error) {
	e := estate{}
	mail, err := tree.Lstat(mailSpool(defs, user))
	if err != nil {
		return e, err
	}
	if mail.Type == host.Regular {
		e.Mail, e.MailOwner = mailSpool(defs, user), mail.UID
	}
	info, err := tree.Lstat(home)
	if err != nil || info.Type == host.Absent {
		return e, err
	}
	e.Home, e.Owner, e.Type = home, info.UID, info.Type
	if info.Type != host.Directory {
		return e, nil
	}
	mounts, err := tree.Mounts(home)
	if err != nil {
		return e, err
	}
	if len(mounts) > 0 {
		e.Mount = mounts[0]
		return e, nil
	}
	why := "home of " + user + ", which is removed"
	errFull := errors.New("that is enough")
	err = tree.Walk(home, func(p string, info host.Info) error {
		kind := ledger.File
		switch info.Type {
		case host.Directory:
			kind = ledger.Directory
		case host.Other:
			e.Special = p
		}
		e.Bytes += info.Size
		e.Entries = append(e.Entries, ledger.Change{Kind: kind, Target: p, Why: why})
		if len(e.Entries) > maxHomeEntries || e.Bytes > maxHomeBytes {
			return errFull
		}
		return nil
	})
	if errors.Is(err, errFull) {
		err = nil
	}
	slices.Reverse(e.Entries)
	e.Entries = append(e.Entries, ledger.Change{Kind: ledger.Directory, Target: home, Why: why})
	return e, err
}
