// SPDX-License-Identifier: Apache-2.0

package vm

import (
	"context"
	"crypto/rand"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Snapshot saves the running machine, memory and disk, under a tag. The snapshot is stored in the
// machine's disk.
func (m *Machine) Snapshot(ctx context.Context, tag string) error {
	m.Disconnect() // otherwise the snapshot would contain an open connection
	if err := m.runQuietCommand(ctx, "savevm "+tag); err != nil {
		return err
	}
	m.snapshots = append(m.snapshots, tag)
	return nil
}

// Restore restores a snapshot with the link up. It sets the guest's clock and reseeds its random
// number generator before it returns.
func (m *Machine) Restore(ctx context.Context, tag string) error {
	if !slices.Contains(m.snapshots, tag) {
		// QEMU would stop the machine before it reports this error.
		return fmt.Errorf("vm: %s has no snapshot %q", m.cfg.Name, tag)
	}
	m.Disconnect()
	if m.uplink != nil {
		m.uplink.Disconnect()
	}
	if err := m.runQuietCommand(ctx, "loadvm "+tag); err != nil {
		return err
	}
	if err := m.RestoreLink(ctx); err != nil {
		return err
	}
	return m.refreshGuest(ctx)
}

// runQuietCommand runs a command of the human monitor that prints something only if it fails.
func (m *Machine) runQuietCommand(ctx context.Context, line string) error {
	answer, err := m.qmp.runHumanCommand(ctx, line)
	if err != nil {
		return err
	}
	if answer = strings.TrimSpace(answer); answer != "" {
		return fmt.Errorf("sending %q to qemu: %s", line, answer)
	}
	return nil
}

// refreshGuest updates a restored guest. It sets the clock, before any certificate is checked, and
// reseeds the random number generator (RNDRESEEDCRNG is 0x5207). Otherwise two restored machines
// would generate the same keys.
func (m *Machine) refreshGuest(ctx context.Context) error {
	if err := m.WaitSSH(ctx); err != nil {
		return err
	}
	seed := rand.Text() + rand.Text()
	command := fmt.Sprintf(`date -u -s @%.3f >/dev/null && exec perl -e '
		open my $r, ">", "/dev/urandom" or die $!;
		syswrite $r, join "", <STDIN> or die $!;
		ioctl $r, 0x5207, 0 or die $!;'`, float64(time.Now().UnixMilli())/1000)
	var errs strings.Builder
	code, err := m.RunStream(ctx, command, strings.NewReader(seed), nil, &errs)
	if err == nil && code != 0 {
		err = fmt.Errorf("exit code %d", code)
	}
	if err != nil {
		return fmt.Errorf("setting the restored machine's clock: %w: %s", err, errs.String())
	}
	return nil
}
