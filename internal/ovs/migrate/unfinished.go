package migrate

import (
	"path/filepath"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostfs"
)

// UnfinishedMigration reports whether a migration was started and not finished,
// and returns its uplink. The timer, the next boot or the next run reverts it.
// dir is the agent's state directory.
func UnfinishedMigration(tree *hostfs.Tree, dir string) (uplink string, unfinished bool, err error) {
	dir, err = filepath.Abs(dir)
	if err != nil {
		return "", false, err
	}
	origin, unfinished, err := pendingFile{tree: tree, dir: dir}.read()
	return origin.Uplink, unfinished, err
}
