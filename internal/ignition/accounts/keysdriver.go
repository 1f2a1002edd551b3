package accounts

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
)

// KeyFiles is the driver of files of SSH keys and of the directories above
// them. A home is its user's, who can swap anything in it for a link at any
// moment; so the driver works in a tree whose root is the home (the first of
// the wish's Names), which no link leads out of.
type KeyFiles struct {
	Tree *host.Tree
	// SELinux labels what is made; nil leaves that to the kernel.
	SELinux ledger.Labeler
}

// inner is a change as seen from the home.
type inner struct {
	paths  *ledger.Paths
	change ledger.Change
}

func (d *KeyFiles) open(c ledger.Change) (inner, error) {
	if len(c.Want.Names) != 1 || !host.Within(c.Target, c.Want.Names[0]) {
		return inner{}, fmt.Errorf("finding the home of %s: the change does not name it", c.Target)
	}
	base := c.Want.Names[0]
	sub, _, err := d.Tree.Sub(base)
	if err != nil {
		return inner{}, err
	}
	in := inner{paths: &ledger.Paths{Tree: sub}, change: c}
	if d.SELinux != nil {
		in.paths.SELinux = labelsWithin{base, d.SELinux}
	}
	in.change.Kind = ledger.File
	if c.Kind == KeysDir {
		in.change.Kind = ledger.Directory
	}
	in.change.Target = path.Join("/", strings.TrimPrefix(c.Target, base))
	in.change.Want.Names, in.change.Want.Value = nil, ""
	return in, nil
}

// Look tells what is there; the Value is those of the wished lines that are.
func (d *KeyFiles) Look(ctx context.Context, c ledger.Change) (ledger.State, error) {
	in, err := d.open(c)
	if gone(err) {
		return ledger.State{}, nil
	}
	if err != nil {
		return ledger.State{}, err
	}
	defer in.paths.Tree.Close()
	state, err := in.paths.Look(ctx, in.change)
	if err != nil || c.Want.Value == "" || !state.Present {
		return state, err
	}
	wished, err := wishedKeys(c)
	if err != nil {
		return state, err
	}
	there := keyLines(state.Content)
	value, err := json.Marshal(slices.DeleteFunc(wished, func(line string) bool { return !slices.Contains(there, line) }))
	state.Value = string(value)
	return state, err
}

func wishedKeys(c ledger.Change) ([]string, error) {
	var lines []string
	if err := json.Unmarshal([]byte(c.Want.Value), &lines); err != nil {
		return nil, fmt.Errorf("reading the keys that were wished for %s: %w", c.Target, err)
	}
	return lines, nil
}

// Make writes the file whole, or adds the lines that it lacks.
func (d *KeyFiles) Make(ctx context.Context, c ledger.Change, _ ledger.State) error {
	in, err := d.open(c)
	if err != nil {
		return err
	}
	defer in.paths.Tree.Close()
	now, err := in.paths.Look(ctx, in.change)
	if err != nil {
		return err
	}
	if now.Present && now.Type != string(host.Regular) && c.Kind == Keys {
		return fmt.Errorf("writing %s: it is a %s; nothing is followed there as root", c.Target, now.Type)
	}
	if c.Kind == Keys {
		if now.Present && c.Want.Value != "" {
			in.change.Want.Content = addKeys(now.Content, keyLines(c.Want.Content))
		}
		in.change.Want.Digest = contentDigest(in.change.Want.Content)
	}
	return in.paths.Make(ctx, in.change, now)
}

// Restore puts back what was there. What somebody has added meanwhile stays.
func (d *KeyFiles) Restore(ctx context.Context, c ledger.Change, before ledger.State) error {
	in, err := d.open(c)
	if gone(err) {
		return nil
	}
	if err != nil {
		return err
	}
	defer in.paths.Tree.Close()
	if c.Kind == KeysDir || c.Want.Value == "" {
		return in.paths.Restore(ctx, in.change, before)
	}
	now, err := in.paths.Look(ctx, in.change)
	if err != nil || !now.Present {
		return err
	}
	wished, err := wishedKeys(c)
	if err != nil {
		return err
	}
	ours := keysWritten(before, wished)
	if bytes.Equal(now.Content, ours) {
		return in.paths.Restore(ctx, in.change, before)
	}
	rest := removeKeys(now.Content, wished, keyLines(before.Content))
	if len(keyLines(rest)) == 0 && !before.Present {
		return in.paths.Restore(ctx, in.change, before)
	}
	in.change.Want = ledger.State{Present: true, Content: rest, Digest: contentDigest(rest)}
	return in.paths.Make(ctx, in.change, now)
}

// keysWritten is the file as this driver left it on the running machine.
func keysWritten(before ledger.State, wished []string) []byte {
	if !before.Present {
		return []byte(strings.Join(wished, "\n") + "\n")
	}
	return addKeys(before.Content, wished)
}

// labelsWithin asks for the labels of the paths that those of a home are in the
// whole tree.
type labelsWithin struct {
	base  string
	whole ledger.Labeler
}

// Labels tells the labels of paths in the home.
func (l labelsWithin) Labels(ctx context.Context, types map[string]host.FileType) (map[string][]byte, error) {
	outer := map[string]host.FileType{}
	for p, t := range types {
		outer[path.Join(l.base, p)] = t
	}
	found, err := l.whole.Labels(ctx, outer)
	labels := map[string][]byte{}
	for p := range types {
		if label, known := found[path.Join(l.base, p)]; known {
			labels[p] = label
		}
	}
	return labels, err
}

// Relabel sets the labels of paths in the home.
func (l labelsWithin) Relabel(ctx context.Context, paths []string) error {
	outer := make([]string, 0, len(paths))
	for _, p := range paths {
		outer = append(outer, path.Join(l.base, p))
	}
	return l.whole.Relabel(ctx, outer)
}
