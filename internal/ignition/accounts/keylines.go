// SPDX-License-Identifier: Apache-2.0

package accounts

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostfs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
)

// keyLines is the driver of lines in files of SSH keys on the running host. The
// user can replace anything in the home directory with a link at any moment. The
// tree follows such a link only to a directory of the same user.
type keyLines struct{ paths *ledger.Paths }

var _ ledger.Cleaner = (*keyLines)(nil)

// fileChange returns the change of the file itself.
func fileChange(c ledger.Change) ledger.Change {
	c.Kind, c.Desired.Names, c.Desired.Value = ledger.File, nil, ""
	return c
}

// Get returns the state of the file. Its value is about the desired lines that exist.
func (k *keyLines) Get(ctx context.Context, c ledger.Change) (ledger.State, error) {
	state, err := k.paths.Get(ctx, fileChange(c))
	if err != nil || !state.Present {
		return state, err
	}
	existing := linesOf(state.Content)
	state.Value = describeLines(slices.DeleteFunc(slices.Clone(c.Desired.Names), func(line string) bool {
		return !slices.Contains(existing, line)
	}))
	return state, nil
}

// Set adds the lines that the file lacks.
func (k *keyLines) Set(ctx context.Context, c ledger.Change, _ ledger.State) error {
	change := fileChange(c)
	now, err := k.paths.Get(ctx, change)
	if err != nil {
		return err
	}
	if now.Present && now.Type != hostfs.Regular {
		return fmt.Errorf("writing %s: it is a %s, which is not followed", c.Target, now.Type)
	}
	change.Desired = change.Desired.WithContent(addLines(now.Content, c.Desired.Names))
	return k.paths.Set(ctx, change, now)
}

// Restore restores the file. Lines that another process has added stay.
func (k *keyLines) Restore(ctx context.Context, c ledger.Change, before ledger.State) error {
	change := fileChange(c)
	now, err := k.paths.Get(ctx, change)
	if err != nil || !now.Present {
		return err
	}
	rest := removeLines(now.Content, c.Desired.Names, linesOf(before.Content))
	asWritten := bytes.Equal(now.Content, addLines(before.Content, c.Desired.Names))
	if asWritten || (len(linesOf(rest)) == 0 && !before.Present) {
		return k.paths.Restore(ctx, change, before)
	}
	change.Desired = ledger.State{Present: true}.WithContent(rest)
	return k.paths.Set(ctx, change, now)
}

// CleanUp removes the temporary files of killed runs, so that their directories can
// be removed.
func (k *keyLines) CleanUp(ctx context.Context, changes []ledger.Change) error {
	files := make([]ledger.Change, 0, len(changes))
	for _, c := range changes {
		files = append(files, fileChange(c))
	}
	return k.paths.CleanUp(ctx, files)
}

// linesOf returns the lines of a file that are not empty.
func linesOf(content []byte) []string {
	var lines []string
	for line := range strings.Lines(string(content)) {
		if line = strings.TrimSpace(line); line != "" {
			lines = append(lines, line)
		}
	}
	return lines
}

func describeLines(lines []string) string {
	return fmt.Sprintf("%d lines, sha256 %s", len(lines), digest(strings.Join(lines, "\n")))
}

// addLines appends the lines that a file lacks.
func addLines(content []byte, lines []string) []byte {
	out, existing := slices.Clone(content), linesOf(content)
	for _, line := range lines {
		if slices.Contains(existing, line) {
			continue
		}
		if len(out) > 0 && out[len(out)-1] != '\n' {
			out = append(out, '\n')
		}
		out = append(append(out, line...), '\n')
		existing = append(existing, line)
	}
	return out
}

// removeLines removes lines, but those that existed before.
func removeLines(content []byte, lines, before []string) []byte {
	var out []byte
	for line := range strings.Lines(string(content)) {
		if key := strings.TrimSpace(line); !slices.Contains(lines, key) || slices.Contains(before, key) {
			out = append(out, line...)
		}
	}
	return out
}
