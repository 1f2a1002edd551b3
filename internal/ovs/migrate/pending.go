// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"path"
	"path/filepath"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostfs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ovs"
)

// pendingFile is a file that exists from before the first change of a migration
// until the migration is verified and saved. Its removal makes a migration
// final: while it exists, the timer, the unit at boot and the next run all
// restore the Backup in it.
type pendingFile struct {
	tree *hostfs.Tree
	dir  string
}

func (f pendingFile) path() string { return path.Join(f.dir, "network-migration.json") }

// read returns the backup of an unfinished migration, and reports whether there
// is one.
func (f pendingFile) read() (ovs.Backup, bool, error) { return readPending(f.tree, f.path()) }

func readPending(tree hostfs.Reader, file string) (ovs.Backup, bool, error) {
	exists, err := tree.Exists(file)
	if err != nil || !exists {
		return ovs.Backup{}, false, err
	}
	content, _, err := tree.ReadFile(file)
	if err != nil {
		return ovs.Backup{}, false, err
	}
	backup, err := ovs.DecodeBackup(content)
	return backup, err == nil, err
}

// write makes the pending file and the boot unit durable. It must return before
// the first change.
func (f pendingFile) write(backup ovs.Backup) error {
	content, err := backup.Encode()
	if err != nil {
		return err
	}
	if err := f.tree.MkdirAll(path.Dir(bootUnitLink)); err != nil {
		return err
	}
	batch := f.tree.NewBatch()
	defer batch.Abort()
	unit := []byte(bootRollbackUnit(f.path(), backup))
	if err := batch.Stage(bootUnitPath, unit, hostfs.AgentAttr(0o644)); err != nil {
		return err
	}
	if err := batch.Stage(f.path(), content, hostfs.AgentAttr(0o600)); err != nil {
		return err
	}
	if err := f.tree.Symlink(bootUnitPath, bootUnitLink, hostfs.AgentAttr(0)); err != nil {
		return err
	}
	return batch.Commit()
}

// remove makes the current state of the network final.
func (f pendingFile) remove() error {
	if err := f.tree.Remove(f.path()); err != nil {
		return err
	}
	if err := f.tree.SyncDir(f.dir); err != nil {
		return err
	}
	if err := f.tree.Remove(bootUnitLink); err != nil {
		return err
	}
	return f.tree.Remove(bootUnitPath)
}

// UnfinishedMigration reports whether a migration was started and not finished,
// and returns its uplink. The timer, the next boot or the next run reverts it.
// dir is the agent's state directory.
func UnfinishedMigration(tree hostfs.Reader, dir string) (uplink string, unfinished bool, err error) {
	dir, err = filepath.Abs(dir)
	if err != nil {
		return "", false, err
	}
	backup, unfinished, err := readPending(tree, pendingFile{dir: dir}.path())
	return backup.Uplink, unfinished, err
}
