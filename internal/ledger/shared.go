package ledger

import (
	"context"
	"errors"

	"golang.org/x/sys/unix"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host"
)

// SharedOf is ContentsOf for directories in which people put files too, as a
// podman network is one in /etc/cni/net.d. Nobody can tell who made a file there:
// an undo removes the directories that came and are empty, and leaves the rest.
type SharedOf struct {
	*ContentsOf

	Purge bool // remove the rest too
}

// Restore removes what nobody can miss.
func (d SharedOf) Restore(ctx context.Context, c Change, before State) error {
	if d.Purge {
		return d.ContentsOf.Restore(ctx, c, before)
	}
	came, err := d.came(c, before)
	if err != nil {
		return err
	}
	if !before.Present {
		came = append(came, c.Target)
	}
	for _, p := range came {
		info, err := d.Tree.Lstat(p)
		if err == nil && info.Type == host.Directory {
			err = d.Tree.Remove(p)
		}
		if err != nil && !errors.Is(err, unix.ENOTEMPTY) && !errors.Is(err, unix.EBUSY) {
			return err
		}
	}
	return d.sync(c)
}
