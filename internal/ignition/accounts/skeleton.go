package accounts

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// piece is what a home gets from the skeleton, as the ledger keeps it (in the
// wish's Names): an undo removes what is still so.
type piece struct {
	Path   string `json:"path"`             // below the home
	Digest string `json:"digest,omitempty"` // of a file
	Link   string `json:"link,omitempty"`   // of a link
}

// homeChange is the change that makes a user's home.
func homeChange(tree *host.Tree, user, home string, uid, gid int) (ledger.Change, error) {
	defs, err := loginDefs(tree)
	if err != nil {
		return ledger.Change{}, err
	}
	mode := defs.homeMode()
	c := ledger.Change{
		Kind: Home, Target: home, Why: "home of " + user,
		Want: ledger.State{Present: true, Mode: &mode, UID: &uid, GID: &gid},
	}
	skel, err := skeleton(tree)
	if err != nil {
		return c, err
	}
	err = eachPiece(tree, skel, home, func(p piece, _ host.Info, _ []byte) error {
		line, err := json.Marshal(p)
		c.Want.Names = append(c.Want.Names, string(line))
		return err
	})
	return c, err
}

func skeleton(tree *host.Tree) (string, error) {
	defaults, err := useraddDefaults(tree)
	return path.Join("/", cmp.Or(defaults["SKEL"], "/etc/skel")), err
}

// eachPiece visits what the skeleton holds, parents first.
func eachPiece(tree *host.Tree, skel, home string, visit func(p piece, info host.Info, content []byte) error) error {
	there, err := tree.Exists(skel)
	if err != nil || !there {
		return err
	}
	return tree.Walk(skel, func(p string, info host.Info) error {
		part := piece{Path: strings.TrimPrefix(p, skel+"/")}
		var content []byte
		switch info.Type {
		case host.Regular:
			var err error
			if content, _, err = tree.ReadFile(p); err != nil {
				return err
			}
			part.Digest = contentDigest(content)
		case host.Symlink:
			// useradd turns a link into the skeleton into one into the home.
			part.Link = info.Link
			if rest, within := strings.CutPrefix(info.Link, skel); within {
				part.Link = home + rest
			}
		case host.Other:
			return report.Fail(report.Refused, "# remove it and run this again", "%s is a %s, which no home can be made of", p, info.Type)
		}
		return visit(part, info, content)
	})
}

func contentDigest(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}

// gone tells errors that mean that nothing, or no directory, is there.
func gone(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ENOTDIR)
}

// remove removes a piece that is as it was put there, a directory only when it
// is empty.
func (p piece) remove(home *host.Tree) error {
	at := "/" + p.Path
	info, err := home.Lstat(at)
	if err != nil {
		return err
	}
	switch {
	case info.Type == host.Regular && p.Digest != "":
		content, _, err := home.ReadFile(at)
		if err != nil || contentDigest(content) != p.Digest {
			return err
		}
	case info.Type == host.Symlink && p.Link == info.Link:
	case info.Type == host.Directory && p.Digest == "" && p.Link == "":
	default:
		return nil
	}
	if err := home.Remove(at); err != nil && !errors.Is(err, unix.ENOTEMPTY) {
		return err
	}
	return nil
}

// removeTree removes a tree that this package has built aside. Nobody but root
// can have put anything into it.
func removeTree(tree *host.Tree, dir string) error {
	var all []string
	there, err := tree.Exists(dir)
	if err != nil || !there {
		return err
	}
	if err := tree.Walk(dir, func(p string, _ host.Info) error { all = append(all, p); return nil }); err != nil {
		return err
	}
	slices.Reverse(all)
	for _, p := range append(all, dir) {
		if err := tree.Remove(p); err != nil {
			return err
		}
	}
	return nil
}
