package accounts

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostfs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
)

// keyFiles is the driver of files of SSH keys and of the directories above them.
// It works in a tree rooted at the home directory: its user can replace anything
// in it with a link at any moment, and no link leads out of that tree.
type keyFiles struct {
	tree    *hostfs.Tree
	selinux ledger.Labeler // nil leaves labels to the kernel
}

// inner is a change as seen from the home directory.
type inner struct {
	paths  *ledger.Paths
	change ledger.Change
}

func (k *keyFiles) open(c ledger.Change) (inner, error) {
	in := inner{change: c}
	in.change.Kind, in.change.Target = ledger.File, "/"+keysFile
	if c.Kind == KeysDir {
		in.change.Kind, in.change.Target = ledger.Directory, path.Dir("/"+keysFile)
	}
	in.change.Desired.Names, in.change.Desired.Value = nil, ""
	home := path.Join("/", strings.TrimSuffix(c.Target, in.change.Target))
	sub, _, err := k.tree.Sub(home)
	if err != nil {
		return in, err
	}
	in.paths = &ledger.Paths{Tree: sub}
	if k.selinux != nil {
		in.paths.SELinux = labelsWithin{home, k.selinux}
	}
	return in, nil
}

// gone reports whether an error means that nothing, or no directory, exists.
func gone(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ENOTDIR)
}

// Get returns the current state. Its value is about the desired lines that exist.
func (k *keyFiles) Get(ctx context.Context, c ledger.Change) (ledger.State, error) {
	in, err := k.open(c)
	if gone(err) {
		return ledger.State{}, nil
	}
	if err != nil {
		return ledger.State{}, err
	}
	defer in.paths.Tree.Close()
	state, err := in.paths.Get(ctx, in.change)
	if err != nil || c.Desired.Value == "" || !state.Present {
		return state, err
	}
	existing := keyLines(state.Content)
	state.Value = keysValue(slices.DeleteFunc(slices.Clone(c.Desired.Names), func(line string) bool {
		return !slices.Contains(existing, line)
	}))
	return state, nil
}

// Set writes the file, or adds the lines that it lacks.
func (k *keyFiles) Set(ctx context.Context, c ledger.Change, _ ledger.State) error {
	in, err := k.open(c)
	if err != nil {
		return err
	}
	defer in.paths.Tree.Close()
	now, err := in.paths.Get(ctx, in.change)
	if err != nil {
		return err
	}
	if c.Kind == Keys {
		if now.Present && now.Type != hostfs.Regular {
			return fmt.Errorf("writing %s: it is a %s, which is not followed", c.Target, now.Type)
		}
		if now.Present && c.Desired.Value != "" {
			in.change.Desired.Content = addKeys(now.Content, c.Desired.Names)
		}
		in.change.Desired.Digest = digest(string(in.change.Desired.Content))
	}
	return in.paths.Set(ctx, in.change, now)
}

// Restore restores the file. Lines that another process has added stay.
func (k *keyFiles) Restore(ctx context.Context, c ledger.Change, before ledger.State) error {
	in, err := k.open(c)
	if gone(err) {
		return nil
	}
	if err != nil {
		return err
	}
	defer in.paths.Tree.Close()
	if c.Kind == KeysDir || c.Desired.Value == "" {
		return in.paths.Restore(ctx, in.change, before)
	}
	now, err := in.paths.Get(ctx, in.change)
	if err != nil || !now.Present {
		return err
	}
	rest := removeKeys(now.Content, c.Desired.Names, keyLines(before.Content))
	asWritten := bytes.Equal(now.Content, addKeys(before.Content, c.Desired.Names))
	if asWritten || (len(keyLines(rest)) == 0 && !before.Present) {
		return in.paths.Restore(ctx, in.change, before)
	}
	in.change.Desired = ledger.State{Present: true, Content: rest, Digest: digest(string(rest))}
	return in.paths.Set(ctx, in.change, now)
}

// CleanUp removes the temporary files of killed runs, so that their directories can
// be removed.
func (k *keyFiles) CleanUp(ctx context.Context, changes []ledger.Change) error {
	for _, c := range changes {
		in, err := k.open(c)
		if gone(err) {
			continue
		}
		if err != nil {
			return err
		}
		err = in.paths.CleanUp(ctx, []ledger.Change{in.change})
		in.paths.Tree.Close()
		if err != nil {
			return err
		}
	}
	return nil
}

// labelsWithin translates paths in a home directory to those of the whole tree.
type labelsWithin struct {
	home  string
	whole ledger.Labeler
}

// Labels returns the labels of paths in the home directory.
func (l labelsWithin) Labels(ctx context.Context, types map[string]hostfs.FileType) (map[string][]byte, error) {
	outer := map[string]hostfs.FileType{}
	for p, t := range types {
		outer[path.Join(l.home, p)] = t
	}
	found, err := l.whole.Labels(ctx, outer)
	labels := map[string][]byte{}
	for p := range types {
		if label, known := found[path.Join(l.home, p)]; known {
			labels[p] = label
		}
	}
	return labels, err
}

// Relabel sets the labels of paths in the home directory.
func (l labelsWithin) Relabel(ctx context.Context, paths []string) error {
	outer := make([]string, 0, len(paths))
	for _, p := range paths {
		outer = append(outer, path.Join(l.home, p))
	}
	return l.whole.Relabel(ctx, outer)
}
