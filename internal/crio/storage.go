package crio

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
)

// Storage is where CRI-O keeps images and containers. Podman keeps its own
// there too.
const Storage = "/var/lib/containers"

// StorageKind is the kind of the ledger's bracket around Storage.
const StorageKind ledger.Kind = "image storage"

// StorageDriver records whether there was an image storage before CRI-O first
// ran. An undo removes the storage only if there was none, and if no container
// is in it any more: one that is left, after CRI-O's own are gone, is
// somebody's of podman, and single images of a shared storage cannot be told
// apart.
type StorageDriver struct{ Contents *ledger.ContentsOf }

// Look lists what is there.
func (d *StorageDriver) Look(ctx context.Context, c ledger.Change) (ledger.State, error) {
	state, err := d.Contents.Look(ctx, c)
	if len(state.Names) > 0 {
		// One name is enough to know that there was something.
		state.Names = state.Names[:1]
	}
	return state, err
}

// Bracketed says that CRI-O and podman change it all the time.
func (d *StorageDriver) Bracketed() {}

// Make does nothing: CRI-O makes the storage.
func (d *StorageDriver) Make(context.Context, ledger.Change, ledger.State) error { return nil }

// Restore removes the storage if it was CRI-O's alone.
func (d *StorageDriver) Restore(ctx context.Context, c ledger.Change, before ledger.State) error {
	if len(before.Names) > 0 {
		return nil
	}
	content, _, err := d.Contents.Tree.ReadFile(c.Target + "/storage/overlay-containers/containers.json")
	if err == nil {
		left, err := containers(content)
		if err != nil || left > 0 {
			return err
		}
	}
	return d.Contents.Restore(ctx, c, before)
}

// containers counts the entries of the storage's own list.
func containers(list []byte) (int, error) {
	var entries []json.RawMessage
	if err := json.Unmarshal(list, &entries); err != nil {
		return 0, fmt.Errorf("reading the list of containers in %s: %w", Storage, err)
	}
	return len(entries), nil
}
