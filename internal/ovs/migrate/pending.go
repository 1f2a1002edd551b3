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

func (j pendingFile) path() string { return path.Join(j.dir, "network-move.json") }

// read returns the backup of an unfinished migration, and reports whether there
// is one.
func (j pendingFile) read() (ovs.Backup, bool, error) {
	exists, err := j.tree.Exists(j.path())
	if err != nil || !exists {
		return ovs.Backup{}, false, err
	}
	content, _, err := j.tree.ReadFile(j.path())
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
func (j pendingFile) write(o ovs.Backup) error {
	content, err := json.Marshal(o)
	if err != nil {
		return fmt.Errorf("encoding the state of the uplink: %w", err)
	}
	if err := j.tree.MkdirAll(path.Dir(bootUnitLink)); err != nil {
		return err
	}
	owned := func(mode uint32) hostfs.Attr {
		return hostfs.Attr{Mode: mode, UID: os.Geteuid(), GID: os.Getegid()}
	}
	batch := j.tree.NewBatch()
	defer batch.Abort()
	if err := batch.Stage(bootUnitPath, []byte(bootRollbackUnit(j.path(), o)), owned(0o644)); err != nil {
		return err
	}
	if err := batch.Stage(j.path(), append(content, '\n'), owned(0o600)); err != nil {
		return err
	}
	if err := j.tree.Symlink(bootUnitPath, bootUnitLink, owned(0)); err != nil {
		return err
	}
	return batch.Commit()
}

// remove makes the current state of the network final.
func (j pendingFile) remove() error {
	if err := j.tree.Remove(j.path()); err != nil {
		return err
	}
	if err := j.tree.SyncDir(j.dir); err != nil {
		return err
	}
	if err := j.tree.Remove(bootUnitLink); err != nil {
		return err
	}
	return j.tree.Remove(bootUnitPath)
}
