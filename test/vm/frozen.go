// SPDX-License-Identifier: Apache-2.0

package vm

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// FromSnapshot is equivalent to [Start] and [Machine.WaitBoot], but takes a tenth of the time. It
// loads the saved state of a booted machine with the same hardware, host name and image. The
// first call for such a machine boots one and saves its state beside the image.
//
// All these machines have the same machine-id. The uplink comes up after the load and gets its
// lease from the current network.
func FromSnapshot(ctx context.Context, cfg Config) (*Machine, error) {
	m, err := newMachine(ctx, cfg)
	if err != nil {
		return nil, err
	}
	if err := m.loadState(ctx); err != nil {
		m.Close()
		return nil, err
	}
	return m, nil
}

func (m *Machine) loadState(ctx context.Context) error {
	frozen, err := m.savedState(ctx)
	if err != nil {
		return fmt.Errorf("preparing the live state of %s: %w", m.cfg.Name, err)
	}
	if err := m.start(ctx, filepath.Join(frozen, "disk.qcow2"), "qcow2", filepath.Join(frozen, "state")); err != nil {
		return err
	}
	if err := m.RestoreLink(ctx); err != nil {
		return err
	}
	if err := m.refreshGuest(ctx); err != nil {
		return err
	}
	if _, err := m.Output(ctx, "nm-online -q -t 60"); err != nil {
		return fmt.Errorf("waiting for the uplink's address: %w", err)
	}
	return nil
}

// savedState returns the directory with the saved state, and creates it if it does not exist.
func (m *Machine) savedState(ctx context.Context) (string, error) {
	version, err := exec.CommandContext(ctx, "qemu-system-x86_64", "--version").Output()
	if err != nil {
		return "", fmt.Errorf("getting the version of qemu: %w", err)
	}
	hardware := strings.Join(hardware{Config: m.cfg, accel: m.accel}.arguments(), "\n")
	sum := sha256.Sum256([]byte(hardware + string(version)))
	cache := filepath.Dir(m.cfg.Image)
	dir := filepath.Join(cache, fmt.Sprintf("frozen-%x", sum[:8]))

	lock, err := os.Create(filepath.Join(cache, ".frozen.lock"))
	if err != nil {
		return "", err
	}
	defer lock.Close()
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		return "", fmt.Errorf("locking %s: %w", lock.Name(), err)
	}
	now := time.Now()
	err = os.Chtimes(dir, now, now) // marks it as used, because the image build removes unused ones
	if errors.Is(err, os.ErrNotExist) {
		err = m.saveState(ctx, dir)
	}
	return dir, err
}

// saveState boots a machine like m and saves its state in dir.
func (m *Machine) saveState(ctx context.Context, dir string) error {
	part := dir + ".part"
	if err := os.RemoveAll(part); err != nil {
		return err
	}
	cfg := m.cfg
	cfg.Dir = part
	fresh, err := Start(ctx, cfg)
	if err != nil {
		return err
	}
	defer func() {
		fresh.stop()
		_ = os.RemoveAll(fresh.sockets) // leaves an empty directory in /tmp at worst
	}()
	if state, err := fresh.WaitBoot(ctx); err != nil {
		return err
	} else if state != "running" {
		return fmt.Errorf("the machine is %s after its boot", state)
	}
	// With the link down, so that the restored machine requests an address first.
	if err := fresh.CutLink(ctx); err != nil {
		return err
	}
	if _, err := fresh.Output(ctx,
		"while ip -4 address show dev eth0 | grep -q inet; do sleep 0.2; done; sync"); err != nil {
		return err
	}
	fresh.Disconnect()
	if err := fresh.save(ctx, filepath.Join(part, "state")); err != nil {
		return err
	}
	if err := fresh.Kill(ctx); err != nil {
		return err
	}
	return os.Rename(part, dir)
}
