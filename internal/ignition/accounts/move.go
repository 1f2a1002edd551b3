package accounts

import (
	"path"
	"slices"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host"
)

// move is what becomes of a user's home when its path, its user's number or its
// primary group changes. usermod would do it too, but only after it has written
// the new entry: ended in between it leaves a home that its user cannot enter,
// and no second run would mend that.
type move struct {
	from, to       string // paths of the home
	uid, gid       int    // old
	newUID, newGID int
}

func (db database) moveOf(user string, wish account) move {
	m := move{from: path.Clean("/" + db.home(user)), uid: db.uid(user), gid: db.gid(user)}
	m.to, m.newUID, m.newGID = m.from, m.uid, m.gid
	if wish.Home != "" {
		m.to = path.Clean("/" + wish.Home)
	}
	if wish.UID != nil {
		m.newUID = *wish.UID
	}
	if gid := db.groupNamed(wish.PrimaryGroup); wish.PrimaryGroup != "" && gid >= 0 {
		m.newGID = gid
	}
	return m
}

func (m move) moves() bool { return m.from != m.to || m.uid != m.newUID || m.gid != m.newGID }

// do hands the home over and then moves it, as usermod does: what belongs to
// the user gets its new numbers, what belongs to others stays theirs.
func (m move) do(tree *host.Tree) error {
	if !m.moves() || m.from == "/" {
		return nil
	}
	err := eachIn(tree, m.from, func(sub *host.Tree, p string, info host.Info) error {
		uid, gid := info.UID, info.GID
		if uid == m.uid {
			uid = m.newUID
		}
		if gid == m.gid {
			gid = m.newGID
		}
		return chown(sub, p, info, uid, gid)
	}, m.uid, m.newUID)
	if err != nil || m.from == m.to {
		return err
	}
	from, err := tree.Lstat(m.from)
	if err != nil || from.Type != host.Directory {
		return err
	}
	if err := tree.Rename(m.from, m.to); err != nil {
		return err
	}
	return tree.SyncFileSystem(path.Dir(m.to))
}

// moveBack is the move from a snapshot to a wish.
func (db database) moveBack(user string, before snapshot, wish account) move {
	old := database{}
	for _, file := range accountFiles() {
		old[file] = &table{lines: before.Lines[file]}
	}
	m := old.moveOf(user, wish)
	if gid := db.groupNamed(wish.PrimaryGroup); wish.PrimaryGroup != "" && gid >= 0 {
		m.newGID = gid
	}
	return m
}

// undo moves the home back and gives everything in it the owner that it had;
// what came since goes with the user's old numbers.
func (m move) undo(tree *host.Tree, owners map[string][2]int, spool string) error {
	if len(owners) == 0 || !m.moves() || m.from == "/" {
		return nil // there was no home
	}
	if m.from != m.to {
		from, err := tree.Lstat(m.from)
		if err != nil {
			return err
		}
		to, err := tree.Lstat(m.to)
		if err != nil {
			return err
		}
		if from.Type == host.Absent && to.Type == host.Directory {
			if err := tree.Rename(m.to, m.from); err != nil {
				return err
			}
		}
	}
	err := eachIn(tree, m.from, func(sub *host.Tree, p string, info host.Info) error {
		old, known := owners[path.Clean("."+p)]
		if !known {
			old = [2]int{m.uid, m.gid}
		}
		uid, gid := info.UID, info.GID
		if uid == m.newUID && m.uid != m.newUID {
			uid = old[0]
		}
		if gid == m.newGID && m.gid != m.newGID {
			gid = old[1]
		}
		return chown(sub, p, info, uid, gid)
	}, m.uid, m.newUID)
	if err != nil || m.uid == m.newUID {
		return err
	}
	info, err := tree.Lstat(spool)
	if err != nil || info.Type != host.Regular || info.UID != m.newUID {
		return err
	}
	return tree.Lchown(spool, m.uid, info.GID)
}

func chown(sub *host.Tree, p string, info host.Info, uid, gid int) error {
	if uid == info.UID && gid == info.GID {
		return nil
	}
	return sub.Lchown(p, uid, gid)
}

// eachIn visits a home and all in it, if it is there and, where users are given,
// belongs to one of them.
func eachIn(tree *host.Tree, home string, visit func(sub *host.Tree, p string, info host.Info) error, users ...int) error {
	sub, info, err := tree.Sub(home)
	if gone(err) {
		return nil
	}
	if err != nil {
		return err
	}
	defer sub.Close()
	if len(users) > 0 && !slices.Contains(users, info.UID) {
		return nil
	}
	if err := visit(sub, "/", info); err != nil {
		return err
	}
	return sub.WalkAll(info.Device, func(p string, info host.Info) error { return visit(sub, p, info) })
}

// owners lists who owns what is in a home, the home itself as ".".
func (m move) owners(tree *host.Tree) (map[string][2]int, error) {
	list := map[string][2]int{}
	err := eachIn(tree, m.from, func(_ *host.Tree, p string, info host.Info) error {
		list[path.Clean("."+p)] = [2]int{info.UID, info.GID}
		return nil
	})
	return list, err
}
