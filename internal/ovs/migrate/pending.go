package migrate

import (
	"encoding/json"
	"fmt"
	"os"
	"path"

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

func (f pendingFile) path() string { return path.Join(f.dir, "network-move.json") }

// read returns the backup of an unfinished migration, and reports whether there
// is one.
func (f pendingFile) read() (ovs.Backup, bool, error) {
	exists, err := f.tree.Exists(f.path())
	if err != nil || !exists {
		return ovs.Backup{}, false, err
	}
	content, _, err := f.tree.ReadFile(f.path())
	if err != nil {
		return ovs.Backup{}, false, err
	}
	var origin ovs.Backup
	if err := json.Unmarshal(content, &origin); err != nil {
		return ovs.Backup{}, false, fmt.Errorf("decoding the state of the uplink: %w", err)
	}
	return origin, true, nil
}

// write makes the pending file and the boot unit durable. It must return before
// the first change.
func (f pendingFile) write(o ovs.Backup) error {
	content, err := json.Marshal(o)
	if err != nil {
		return fmt.Errorf("encoding the state of the uplink: %w", err)
	}
	if err := f.tree.MkdirAll(path.Dir(bootUnitLink)); err != nil {
		return err
	}
	owned := func(mode uint32) hostfs.Attr {
		return hostfs.Attr{Mode: mode, UID: os.Geteuid(), GID: os.Getegid()}
	}
	batch := f.tree.NewBatch()
	defer batch.Abort()
	if err := batch.Stage(bootUnitPath, []byte(bootRollbackUnit(f.path(), o)), owned(0o644)); err != nil {
		return err
	}
	if err := batch.Stage(f.path(), append(content, '\n'), owned(0o600)); err != nil {
		return err
	}
	if err := f.tree.Symlink(bootUnitPath, bootUnitLink, owned(0)); err != nil {
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
