package accounts

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"slices"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
)

// Homes is the driver of homes that are made of the skeleton. A home is built
// beside its place and moved there whole, so one that is there is complete.
type Homes struct {
	Tree *host.Tree
	// SELinux labels what is made; nil leaves that to the kernel.
	SELinux ledger.Labeler
}

// Look tells whether the home is there. Who owns it and what is in it is its
// user's business from then on.
func (d *Homes) Look(_ context.Context, c ledger.Change) (ledger.State, error) {
	there, err := d.Tree.Exists(c.Target)
	if err != nil || !there {
		return ledger.State{}, err
	}
	return ledger.State{Present: true, Mode: c.Want.Mode, UID: c.Want.UID, GID: c.Want.GID}, nil
}

// Bracketed says that others go on changing it.
func (d *Homes) Bracketed() {}

// aside is where a home is built. The name follows from the home's, so what a
// killed run left is taken by the next.
func aside(home string) string {
	return path.Join(path.Dir(home), ".hcp-node-agent.home."+path.Base(home))
}

// Make builds the home. What useradd copies is copied: contents, modes,
// attributes; everything belongs to the user.
func (d *Homes) Make(ctx context.Context, c ledger.Change, _ ledger.State) error {
	temporary := aside(c.Target)
	if err := removeTree(d.Tree, temporary); err != nil {
		return err
	}
	// Nobody but root may enter before it is whole.
	if err := d.Tree.Mkdir(temporary, host.Attr{Mode: 0o700}); err != nil {
		return err
	}
	made, err := d.fill(ctx, c, temporary)
	if err != nil {
		return err
	}
	if err := d.Tree.SyncFileSystem(path.Dir(c.Target)); err != nil {
		return err
	}
	if err := d.Tree.Rename(temporary, c.Target); err != nil {
		return err
	}
	if err := d.Tree.SyncDir(path.Dir(c.Target)); err != nil || d.SELinux == nil {
		return err
	}
	return d.SELinux.Relabel(ctx, made)
}

// fill puts the skeleton into a home that is being built, and lists the paths
// that it will have. Labels are set before anybody can see the home.
func (d *Homes) fill(ctx context.Context, c ledger.Change, temporary string) ([]string, error) {
	skel, err := skeleton(d.Tree)
	if err != nil {
		return nil, err
	}
	types := map[string]host.FileType{c.Target: host.Directory}
	err = eachPiece(d.Tree, skel, c.Target, func(p piece, info host.Info, _ []byte) error {
		types[path.Join(c.Target, p.Path)] = info.Type
		return nil
	})
	if err != nil {
		return nil, err
	}
	var labels map[string][]byte
	if d.SELinux != nil {
		if labels, err = d.SELinux.Labels(ctx, types); err != nil {
			return nil, err
		}
	}
	batch := d.Tree.NewBatch()
	defer batch.Abort()
	err = eachPiece(d.Tree, skel, c.Target, func(p piece, info host.Info, content []byte) error {
		attr := host.Attr{
			Mode: info.Mode, UID: *c.Want.UID, GID: *c.Want.GID,
			Xattrs: relabelled(info.Xattrs, labels[path.Join(c.Target, p.Path)]),
		}
		to := path.Join(temporary, p.Path)
		switch info.Type {
		case host.Directory:
			return d.Tree.Mkdir(to, attr)
		case host.Symlink:
			return d.Tree.Symlink(p.Link, to, attr)
		}
		return batch.Stage(to, content, attr)
	})
	if err != nil {
		return nil, err
	}
	if err := batch.Commit(); err != nil {
		return nil, err
	}
	attr := host.Attr{Mode: *c.Want.Mode, UID: *c.Want.UID, GID: *c.Want.GID, Xattrs: relabelled(nil, labels[c.Target])}
	return slices.Sorted(maps.Keys(types)), d.Tree.Mkdir(temporary, attr)
}

// relabelled gives attributes with another label, or none: a home is not
// labelled as the skeleton is.
func relabelled(xattrs map[string][]byte, label []byte) map[string][]byte {
	const name = "security.selinux"
	all := maps.Clone(xattrs)
	delete(all, name)
	if len(label) > 0 {
		if all == nil {
			all = map[string][]byte{}
		}
		all[name] = label
	}
	return all
}

// Restore removes what the skeleton gave and nobody has changed. What is left
// belongs to somebody: the ledger says so.
func (d *Homes) Restore(_ context.Context, c ledger.Change, before ledger.State) error {
	if before.Present {
		return nil
	}
	if err := removeTree(d.Tree, aside(c.Target)); err != nil {
		return err
	}
	names := slices.Clone(c.Want.Names)
	slices.Reverse(names)
	sub, _, err := d.Tree.Sub(c.Target)
	if gone(err) {
		return nil
	}
	if err != nil {
		return err
	}
	defer sub.Close()
	for _, name := range names {
		var p piece
		if err := json.Unmarshal([]byte(name), &p); err != nil {
			return fmt.Errorf("reading what was put into %s: %w", c.Target, err)
		}
		if err := p.remove(sub); err != nil {
			return err
		}
	}
	return d.Tree.Remove(c.Target)
}
