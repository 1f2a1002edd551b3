package ledger

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
)

// asideSuffix is added to the name of a file from before, whose place somebody
// else's has taken. As it ends in no suffix that a program looks for, none reads
// it out of its directory of drop-ins.
const asideSuffix = ".before-hcp-node-agent"

// aside writes the file that was there before beside what stays in its place: it
// is the only copy, and the ledger's goes with the ledger. It gives its path, ""
// where nothing would be lost. Nothing is written over.
func (u *undoing) aside(ctx context.Context, item Item, now State) (string, error) {
	before := item.Before
	if !item.onPath() || before.Digest == "" || before.Digest == now.Digest {
		return "", nil
	}
	driver, err := u.l.driver(File)
	if err != nil {
		return "", err
	}
	if before.Content, err = u.l.original(before.Digest); err != nil {
		return "", err
	}
	for n := 1; ; n++ {
		file := Change{Kind: File, Target: item.Target + asideSuffix}
		if n > 1 {
			file.Target += "." + strconv.Itoa(n)
		}
		there, err := driver.Look(ctx, file)
		switch {
		case err != nil:
			return "", err
		case there.Digest == before.Digest: // an undo that was killed has written it
			return file.Target, nil
		case there.Present:
			continue
		}
		err = driver.Restore(ctx, file, before)
		if errors.Is(err, fs.ErrNotExist) { // somebody has removed the directory, with all that was in it
			return "", nil
		}
		if err != nil {
			return "", fmt.Errorf("keeping what %s was: %w", item.Target, err)
		}
		return file.Target, nil
	}
}
