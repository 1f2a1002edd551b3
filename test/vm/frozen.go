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

// FromSnapshot is [Start] and [Machine.WaitBoot] in a tenth of the time: it
// loads the live state of a machine of the same hardware, host name and image
// that has booted and settled. The first call for such a machine boots it and
// keeps its state beside the image.
//
// Every machine so made has the same machine-id; the uplink comes up after the
// load and gets its lease from the network that is there.
func FromSnapshot(ctx context.Context, cfg Config) (*Machine, error) {
	m, err := newMachine(ctx, cfg)
	if err != nil {
		return nil, err
	}
	if err := m.thaw(ctx); err != nil {
		m.Close()
		return nil, err
	}
	return m, nil
}

func (m *Machine) thaw(ctx context.Context) error {
	frozen, err := m.frozen(ctx)
	if err != nil {
		return fmt.Errorf("preparing the live state of %s: %w", m.cfg.Name, err)
	}
	if err := m.start(ctx, filepath.Join(frozen, "disk.qcow2"), "qcow2", filepath.Join(frozen, "state")); err != nil {
		return err
	}
	if err := m.RestoreLink(ctx); err != nil {
		return err
	}
	if err := m.revive(ctx); err != nil {
		return err
	}
	if _, err := m.Output(ctx, "nm-online -q -t 60"); err != nil {
		return fmt.Errorf("waiting for the uplink's address: %w", err)
	}
	return nil
}

// frozen returns the folder with the machine's state, making it if need be.
func (m *Machine) frozen(ctx context.Context) (string, error) {
	version, err := exec.CommandContext(ctx, "qemu-system-x86_64", "--version").Output()
	if err != nil {
		return "", fmt.Errorf("asking for qemu's version: %w", err)
	}
	hardware := strings.Join(hardware{Config: m.cfg, accel: m.accel}.arguments(), "\n")
	sum := sha256.Sum256([]byte(hardware + string(version)))
	cache := filepath.Dir(m.cfg.Image)
	folder := filepath.Join(cache, fmt.Sprintf("frozen-%x", sum[:8]))

	lock, err := os.Create(filepath.Join(cache, ".frozen.lock"))
	if err != nil {
		return "", err
	}
	defer lock.Close()
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		return "", fmt.Errorf("locking %s: %w", lock.Name(), err)
	}
	now := time.Now()
	err = os.Chtimes(folder, now, now) // used: the image build removes what is not
	if errors.Is(err, os.ErrNotExist) {
		err = m.freeze(ctx, folder)
	}
	return folder, err
}

// freeze boots a machine like m and keeps its state in folder.
func (m *Machine) freeze(ctx context.Context, folder string) error {
	part := folder + ".part"
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
		_ = os.RemoveAll(fresh.sockets) // an empty folder in /tmp at worst
	}()
	if state, err := fresh.WaitBoot(ctx); err != nil {
		return err
	} else if state != "running" {
		return fmt.Errorf("the machine is %s after its boot", state)
	}
	// Without its link, so that it comes to life by asking for an address.
	if err := fresh.CutLink(ctx); err != nil {
		return err
	}
	if _, err := fresh.Output(ctx, "while ip -4 address show dev eth0 | grep -q inet; do sleep 0.2; done; sync"); err != nil {
		return err
	}
	fresh.Disconnect()
	if err := fresh.save(ctx, filepath.Join(part, "state")); err != nil {
		return err
	}
	if err := fresh.Kill(ctx); err != nil {
		return err
	}
	return os.Rename(part, folder)
}
