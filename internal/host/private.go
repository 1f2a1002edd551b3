package host

import (
	"fmt"
	"os"
)

// WritePrivate writes one of the agent's own files, whole and durable, for its
// user alone, and makes the directory, 0700, where it is missing.
func WritePrivate(dir, name string, content []byte) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("making the agent's own directory: %w", err)
	}
	tree, err := OpenTree(dir)
	if err != nil {
		return err
	}
	defer tree.Close()
	batch := tree.NewBatch()
	defer batch.Abort()
	if err := batch.Stage("/"+name, content, Attr{Mode: 0o600, UID: os.Geteuid(), GID: os.Getegid()}); err != nil {
		return err
	}
	return batch.Commit()
}
