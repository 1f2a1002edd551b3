package host

import "fmt"

// SyncDir makes what was created in, renamed in or removed from directory p
// durable.
func (t *Tree) SyncDir(p string) error {
	dir, err := t.openDir(p)
	if err != nil {
		return err
	}
	defer dir.Close()
	if err := dir.Sync(); err != nil {
		return fmt.Errorf("syncing directory %s: %w", p, err)
	}
	return nil
}
