// SPDX-License-Identifier: Apache-2.0

package hosted

import (
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// directories are the directories on this host: logs, which are kept, and run, which holds keys
// and state and is removed on stop.
type directories struct {
	logs, run string
	lock      *os.File
}

// lockDirectory locks a directory for one control plane. The run directory of an earlier control
// plane that was killed is removed.
func lockDirectory(dir string) (directories, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return directories{}, fmt.Errorf("resolving the directory: %w", err)
	}
	f := directories{logs: filepath.Join(dir, "logs"), run: filepath.Join(dir, "run")}
	if err := os.MkdirAll(f.logs, 0o700); err != nil {
		return directories{}, fmt.Errorf("making the directory: %w", err)
	}
	if f.lock, err = os.Open(dir); err != nil {
		return directories{}, fmt.Errorf("opening the directory: %w", err)
	}
	if err := unix.Flock(int(f.lock.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		f.lock.Close()
		return directories{}, fmt.Errorf("another control plane runs in %s: stop it, or use another directory: %w", dir, err)
	}
	if err := f.clear(); err != nil {
		f.lock.Close()
		return directories{}, err
	}
	if err := os.Mkdir(f.run, 0o700); err != nil {
		f.lock.Close()
		return directories{}, fmt.Errorf("creating the run directory: %w", err)
	}
	return f, nil
}

func (f directories) file(name string) string { return filepath.Join(f.run, name) }

func (f directories) write(name string, content []byte) (path string, err error) {
	path = f.file(name)
	if err := os.WriteFile(path, content, 0o600); err != nil {
		return "", fmt.Errorf("writing %s: %w", name, err)
	}
	return path, nil
}

func (f directories) clear() error {
	if err := os.RemoveAll(f.run); err != nil {
		return fmt.Errorf("clearing the run directory: %w", err)
	}
	return nil
}

// release removes the run directory and unlocks the directory.
func (f directories) release() error {
	err := f.clear()
	f.lock.Close()
	return err
}
