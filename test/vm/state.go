// SPDX-License-Identifier: Apache-2.0

package vm

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// save stops the machine permanently and writes its state, except the disk, to a file, by a
// migration to that file.
func (m *Machine) save(ctx context.Context, path string) error {
	if err := m.qmp.execute(ctx, "stop", nil, nil); err != nil {
		return err
	}
	if err := m.qmp.execute(ctx, "migrate-set-parameters", map[string]any{"max-bandwidth": int64(8) << 30},
		nil); err != nil {
		return err
	}
	if err := m.qmp.execute(ctx, "migrate", map[string]any{"uri": "exec:cat >" + Quote(path)}, nil); err != nil {
		return err
	}
	return m.awaitMigration(ctx)
}

// load loads a saved state into a QEMU process that waits for it.
func (m *Machine) load(ctx context.Context, path string) error {
	if err := m.qmp.execute(ctx, "migrate-incoming", map[string]any{"uri": "exec:cat " + Quote(path)},
		nil); err != nil {
		return err
	}
	if err := m.awaitMigration(ctx); err != nil {
		return err
	}
	return m.qmp.execute(ctx, "cont", nil, nil)
}

// awaitMigration waits until the migration is complete.
func (m *Machine) awaitMigration(ctx context.Context) error {
	for {
		var progress struct {
			Status      string `json:"status"`
			Description string `json:"error-desc"`
		}
		if err := m.qmp.execute(ctx, "query-migrate", nil, &progress); err != nil {
			return err
		}
		switch progress.Status {
		case "completed":
			return nil
		case "failed", "cancelled":
			return errors.New("moving the machine's live state: " + progress.Description)
		}
		if err := sleep(ctx, 20*time.Millisecond); err != nil {
			return fmt.Errorf("moving the machine's live state: %w", err)
		}
	}
}
