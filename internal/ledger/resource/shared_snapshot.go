// SPDX-License-Identifier: Apache-2.0

package resource

import (
	"context"
	"errors"

	"golang.org/x/sys/unix"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostfs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
)

// SharedDirSnapshot is a DirSnapshot of directories in which administrators also create files, such
// as a podman network in /etc/cni/net.d. The creator of a file is unknown, so an undo
// removes only new empty directories and keeps all files.
type SharedDirSnapshot struct {
	*DirSnapshot

	Purge bool // remove new files too
}

// Restore removes new empty directories, and everything new if Purge is set.
func (s SharedDirSnapshot) Restore(ctx context.Context, c ledger.Change, before ledger.State) error {
	if s.Purge {
		return s.DirSnapshot.Restore(ctx, c, before)
	}
	return s.removeAdded(c, before, func(p string) error {
		info, err := s.Tree.Lstat(p)
		if err == nil && info.Type == hostfs.Directory {
			err = s.Tree.Remove(p)
		}
		if errors.Is(err, unix.ENOTEMPTY) || errors.Is(err, unix.EBUSY) {
			return nil
		}
		return err
	})
}
