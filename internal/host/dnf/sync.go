// SPDX-License-Identifier: Apache-2.0

package dnf

import (
	"cmp"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostfs"
)

// sync makes durable what a transaction has written. rpm syncs its database, but not the files of packages. After a
// power failure, files of installed packages could be empty. Each directory can be on another file system.
func (h Host) sync() error {
	tree, err := hostfs.OpenTree(cmp.Or(h.Root, "/"))
	if err != nil {
		return err
	}
	defer tree.Close()
	return tree.SyncFileSystems("/", "/usr", "/etc", "/opt", "/var", "/var/lib", "/boot")
}
