// SPDX-License-Identifier: Apache-2.0

package networkmanager

import (
	"context"
	"fmt"
	"time"

	"github.com/godbus/dbus/v5"
)

// Checkpoint is a state of all devices and profiles that NetworkManager
// restores when its timeout expires, unless the checkpoint is destroyed before.
// It exists in the daemon's memory: it survives the process that created it,
// but not a restart of the daemon. It does not cover rows of the Open vSwitch
// database that NetworkManager has not created.
type Checkpoint = dbus.ObjectPath

// A rollback deletes new profiles and disconnects new devices.
const checkpointFlags = uint32(0x2 | 0x4)

// CreateCheckpoint creates a checkpoint of all devices. It fails while another
// one exists.
func (c *Client) CreateCheckpoint(ctx context.Context, timeout time.Duration) (Checkpoint, error) {
	var checkpoint Checkpoint
	err := store("creating a NetworkManager checkpoint", c.call(ctx, managerPath, "", "CheckpointCreate",
		[]dbus.ObjectPath{}, uint32(timeout.Seconds()), checkpointFlags), &checkpoint)
	return checkpoint, err
}

// Checkpoints returns the existing checkpoints.
func (c *Client) Checkpoints(ctx context.Context) ([]Checkpoint, error) {
	properties, err := c.properties(ctx, managerPath, "")
	return value[[]Checkpoint](properties, "Checkpoints"), err
}

// DestroyCheckpoint destroys a checkpoint and keeps all changes since.
func (c *Client) DestroyCheckpoint(ctx context.Context, checkpoint Checkpoint) error {
	return store("destroying NetworkManager's checkpoint",
		c.call(ctx, managerPath, "", "CheckpointDestroy", checkpoint))
}

// RollbackCheckpoint reverts all changes since the checkpoint that it covers,
// and destroys it.
func (c *Client) RollbackCheckpoint(ctx context.Context, checkpoint Checkpoint) error {
	const doing = "rolling back to NetworkManager's checkpoint"
	var results map[string]uint32
	err := store(doing, c.call(ctx, managerPath, "", "CheckpointRollback", checkpoint), &results)
	if err != nil {
		return err
	}
	for device, result := range results {
		if result != 0 {
			return fmt.Errorf("%s: device %s has result %d", doing, device, result)
		}
	}
	return nil
}

// ExtendCheckpoint sets a new timeout of a checkpoint, counted from now.
func (c *Client) ExtendCheckpoint(ctx context.Context, checkpoint Checkpoint, timeout time.Duration) error {
	return store("extending NetworkManager's checkpoint",
		c.call(ctx, managerPath, "", "CheckpointAdjustRollbackTimeout", checkpoint, uint32(timeout.Seconds())))
}
