// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"context"
	"fmt"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostfs"
)

// Drivers are the drivers that a ledger uses, by the kind of object.
type Drivers struct {
	Paths     *Paths                  // files, directories and links
	Resources map[Kind]Driver         // other objects that the agent sets
	Snapshots map[Kind]SnapshotDriver // objects that other components change all the time

	// IsMaintained reports whether a component of the cluster may have written the content of a file, which the agent
	// wrote first. The content is nil if the file was removed. IsMaintained may be nil.
	IsMaintained func(target string, content []byte) bool
}

// SnapshotDriver reads and restores objects of one kind. Other components, such as kubelet, change
// the objects. The ledger records their state before the join and has no desired state for them.
type SnapshotDriver interface {
	// Get returns the current state of the object.
	Get(ctx context.Context, c Change) (State, error)
	// Restore reverts the object to the state before.
	Restore(ctx context.Context, c Change, before State) error
}

// Driver reads, sets and restores objects of one kind.
type Driver interface {
	SnapshotDriver
	// Set applies c.Desired; now is the state that Get returned.
	Set(ctx context.Context, c Change, now State) error
}

// The following interfaces are optional: a Driver or SnapshotDriver can implement them.

// Cleaner is implemented if interrupted runs can leave temporary files or processes.
type Cleaner interface {
	// CleanUp removes what interrupted runs left beside the targets of the changes, and makes
	// their effects durable. When CleanUp returns, processes of interrupted runs have exited.
	CleanUp(ctx context.Context, changes []Change) error
}

// PartialRestorer is implemented if objects are restored in more than one step.
type PartialRestorer interface {
	// IsPartiallyRestored reports whether an interrupted undo can have left the object in the state
	// now, which is neither the original nor the desired state.
	IsPartiallyRestored(c Change, before, now State) (bool, error)
}

// CriticalDriver is implemented if the host depends on the objects, such as its network connection,
// and the objects depend on older changes. If such an object cannot be restored, an undo keeps the
// older changes.
type CriticalDriver interface{ IsCritical() bool }

// DataDriver is implemented if the states of the objects contain Data.
type DataDriver interface {
	// NewData returns a pointer to a zero value of the type from which Data is encoded.
	NewData() any
}

// Irreversible is embedded in drivers of objects that an undo leaves as they are, whatever their
// state is: loaded kernel modules, for example.
type Irreversible struct{}

// Restore leaves the object as it is.
func (Irreversible) Restore(context.Context, Change, State) error { return nil }

// IsPartiallyRestored returns true, so that an undo never reports the object as changed by others.
func (Irreversible) IsPartiallyRestored(Change, State, State) (bool, error) { return true, nil }

// Labeler returns and sets the SELinux labels of paths. See selinux.Policy.
type Labeler interface {
	// Labels returns the label that the policy defines for each path with its future file
	// type. Paths without a known label are missing in the result.
	Labels(ctx context.Context, types map[string]hostfs.FileType) (map[string][]byte, error)
	// Relabel sets the labels of existing paths to those of the policy.
	Relabel(ctx context.Context, paths []string) error
}

// of returns the driver of a kind.
func (d Drivers) of(kind Kind) (SnapshotDriver, error) {
	if kind.isPath() && d.Paths != nil {
		return d.Paths, nil
	}
	if driver := d.Resources[kind]; driver != nil {
		return driver, nil
	}
	if driver := d.Snapshots[kind]; driver != nil {
		return driver, nil
	}
	return nil, fmt.Errorf("no driver can change objects of kind %s", kind)
}

// skipSyncs reports whether the tree of the paths is one that a power failure may damage.
func (d Drivers) skipSyncs() bool {
	return d.Paths != nil && d.Paths.Tree != nil && d.Paths.Tree.SkipsSyncs()
}

// syncResources makes durable what the drivers of objects that are not paths have written, most of all by systemctl,
// semanage and grubby, which do not sync their files. A boot entry could otherwise be empty after a power failure.
func (d Drivers) syncResources() error {
	if d.Paths == nil {
		return nil
	}
	return d.Paths.Tree.SyncFileSystems("/etc", "/var/lib", "/boot")
}

// checkData fails if another version of the agent has written Data of an item: Restore could not use all of it.
func (d Drivers) checkData(items []Item) error {
	for _, item := range items {
		driver, _ := d.of(item.Kind) // without a driver, the item cannot be restored
		typed, hasData := driver.(DataDriver)
		if !hasData {
			continue
		}
		for _, state := range append([]State{item.Before, item.Desired}, item.earlierDesired...) {
			if err := state.DecodeData(typed.NewData()); err != nil {
				return fmt.Errorf("reading the ledger: %s %s: %w", item.Kind, item.Target, err)
			}
		}
	}
	return nil
}

// currentState returns the current state of a change's object.
func (d Drivers) currentState(ctx context.Context, c Change) (State, error) {
	driver, err := d.of(c.Kind)
	if err != nil {
		return State{}, err
	}
	return driver.Get(ctx, c)
}

// cleanUp cleans up after interrupted runs. It calls each driver once, with the changes of all
// items of the driver.
func (d Drivers) cleanUp(ctx context.Context, items []Item) error {
	byDriver := map[Cleaner][]Change{}
	for _, item := range items {
		driver, _ := d.of(item.Kind) // an error stops only the undo of the object
		if cleaner, ok := driver.(Cleaner); ok {
			byDriver[cleaner] = append(byDriver[cleaner], item.Change)
		}
	}
	for cleaner, own := range byDriver {
		if err := cleaner.CleanUp(ctx, own); err != nil {
			return err
		}
	}
	return nil
}
