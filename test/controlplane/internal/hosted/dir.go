package hosted

import (
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// folders are the bed's places on this host: logs, which stay, and run, which
// holds keys and state and is gone afterwards.
type folders struct {
	logs, run string
	lock      *os.File
}

// claim takes a folder for one control plane. What an earlier one that was
// killed left in its run folder is removed.
func claim(dir string) (folders, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return folders{}, fmt.Errorf("resolving the bed's folder: %w", err)
	}
	f := folders{logs: filepath.Join(dir, "logs"), run: filepath.Join(dir, "run")}
	if err := os.MkdirAll(f.logs, 0o700); err != nil {
		return folders{}, fmt.Errorf("making the bed's folder: %w", err)
	}
	if f.lock, err = os.Open(dir); err != nil {
		return folders{}, fmt.Errorf("opening the bed's folder: %w", err)
	}
	if err := unix.Flock(int(f.lock.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		f.lock.Close()
		return folders{}, fmt.Errorf("another control plane runs in %s: stop it, or take another folder: %w", dir, err)
	}
	if err := f.clear(); err != nil {
		f.lock.Close()
		return folders{}, err
	}
	if err := os.Mkdir(f.run, 0o700); err != nil {
		f.lock.Close()
		return folders{}, fmt.Errorf("making the run folder: %w", err)
	}
	return f, nil
}

func (f folders) file(name string) string { return filepath.Join(f.run, name) }

func (f folders) write(name string, content []byte) (path string, err error) {
	path = f.file(name)
	if err := os.WriteFile(path, content, 0o600); err != nil {
		return "", fmt.Errorf("writing %s: %w", name, err)
	}
	return path, nil
}

func (f folders) clear() error {
	if err := os.RemoveAll(f.run); err != nil {
		return fmt.Errorf("clearing the run folder: %w", err)
	}
	return nil
}

// release gives the folder back without its run folder.
func (f folders) release() error {
	err := f.clear()
	f.lock.Close()
	return err
}
