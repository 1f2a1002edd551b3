// SPDX-License-Identifier: Apache-2.0

package accounts

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostfs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
)

// keyFiles is the driver of files of SSH keys and of the directories above them. The user can
// replace anything in the home directory with a link at any moment. The tree follows such a
// link only to a directory of the same user.
type keyFiles struct{ paths *ledger.Paths }

// pathChange returns the change of the file or directory itself.
func pathChange(c ledger.Change) ledger.Change {
	kinds := map[ledger.Kind]ledger.Kind{Keys: ledger.File, KeysDir: ledger.Directory}
	c.Kind, c.Desired.Names, c.Desired.Value = kinds[c.Kind], nil, ""
	return c
}

// Get returns the current state. Its value is about the desired lines that exist.
func (k *keyFiles) Get(ctx context.Context, c ledger.Change) (ledger.State, error) {
	state, err := k.paths.Get(ctx, pathChange(c))
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
	change := pathChange(c)
	now, err := k.paths.Get(ctx, change)
	if err != nil {
		return err
	}
	if c.Kind == Keys {
		if now.Present && now.Type != hostfs.Regular {
			return fmt.Errorf("writing %s: it is a %s, which is not followed", c.Target, now.Type)
		}
		if now.Present && c.Desired.Value != "" {
			change.Desired.Content = addKeys(now.Content, c.Desired.Names)
		}
		change.Desired.Digest = digest(string(change.Desired.Content))
	}
	return k.paths.Set(ctx, change, now)
}

// Restore restores the file. Lines that another process has added stay.
func (k *keyFiles) Restore(ctx context.Context, c ledger.Change, before ledger.State) error {
	change := pathChange(c)
	if c.Kind == KeysDir || c.Desired.Value == "" {
		return k.paths.Restore(ctx, change, before)
	}
	now, err := k.paths.Get(ctx, change)
	if err != nil || !now.Present {
		return err
	}
	rest := removeKeys(now.Content, c.Desired.Names, keyLines(before.Content))
	asWritten := bytes.Equal(now.Content, addKeys(before.Content, c.Desired.Names))
	if asWritten || (len(keyLines(rest)) == 0 && !before.Present) {
		return k.paths.Restore(ctx, change, before)
	}
	change.Desired = ledger.State{Present: true, Content: rest, Digest: digest(string(rest))}
	return k.paths.Set(ctx, change, now)
}

// CleanUp removes the temporary files of killed runs, so that their directories can
// be removed.
func (k *keyFiles) CleanUp(ctx context.Context, changes []ledger.Change) error {
	paths := make([]ledger.Change, 0, len(changes))
	for _, c := range changes {
		paths = append(paths, pathChange(c))
	}
	return k.paths.CleanUp(ctx, paths)
}
