// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
)

// backupSuffix is appended to the name of the original file when another process has
// replaced the agent's file. No program reads files with this suffix from its drop-in
// directory.
const backupSuffix = ".before-hcp-node-agent"

// backUpOriginal writes the original file beside the file that an undo keeps, because the ledger
// holds the only copy and is deleted later. It returns the path of the copy, or "" if
// nothing would be lost. It never overwrites a file.
func (l *Ledger) backUpOriginal(ctx context.Context, item Item, now State) (string, error) {
	if !item.Kind.isPath() || item.Before.Digest == "" || item.Before.Digest == now.Digest {
		return "", nil
	}
	before, err := l.withOriginal(item.Before)
	if err != nil {
		return "", err
	}
	for n := 1; ; n++ {
		file := Change{Kind: File, Target: item.Target + backupSuffix}
		if n > 1 {
			file.Target += "." + strconv.Itoa(n)
		}
		found, err := l.drivers.Paths.Get(ctx, file)
		switch {
		case err != nil:
			return "", err
		case found.Digest == before.Digest: // written by an interrupted undo
			return file.Target, nil
		case found.Present:
			continue
		}
		err = l.drivers.Paths.Restore(ctx, file, before)
		if errors.Is(err, fs.ErrNotExist) { // the directory was removed with all its files
			return "", nil
		}
		if err != nil {
			return "", fmt.Errorf("backing up %s: %w", item.Target, err)
		}
		return file.Target, nil
	}
}
