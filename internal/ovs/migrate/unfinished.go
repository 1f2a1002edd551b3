package migrate

import (
	"path/filepath"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host"
)

// UnfinishedMigration tells whether a move of the uplink was begun and not ended, and
// of which: the timer, the next boot or the next run takes it back. dir is the
// agent's state.
func UnfinishedMigration(tree *host.Tree, dir string) (uplink string, unfinished bool, err error) {
	dir, err = filepath.Abs(dir)
	if err != nil {
		return "", false, err
	}
	origin, unfinished, err := pendingFile{tree: tree, dir: dir}.read()
	return origin.Uplink, unfinished, err
}
