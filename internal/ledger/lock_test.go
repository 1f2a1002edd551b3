// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// A child of a killed run holds the lock slightly longer than the run.
func TestLockIsRetriedAfterKill(t *testing.T) {
	name := filepath.Join(t.TempDir(), "lock")
	open := func() *os.File {
		file, err := os.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { file.Close() })
		return file
	}
	child, next := open(), open()
	if err := lock(int(child.Fd()), t.FailNow); err != nil {
		t.Fatal(err)
	}
	pauses := 0
	if err := lock(int(next.Fd()), func() { pauses++ }); !errors.Is(err, ErrLocked) || pauses != lockTries-1 {
		t.Errorf("of one that stays: %v after %d pauses", err, pauses)
	}
	if err := lock(int(next.Fd()), func() { child.Close() }); err != nil {
		t.Errorf("of one that ends: %v", err)
	}
}

// If the owner of the lock deletes the file, the next owner locks a new file and not the
// deleted one.
func TestLockOfDeletedFile(t *testing.T) {
	name := filepath.Join(t.TempDir(), "ledger.log")
	before, err := openLocked(name, t.FailNow)
	if err != nil {
		t.Fatal(err)
	}
	next, err := openLocked(name, func() {
		if err := errors.Join(os.Remove(name), before.Close()); err != nil {
			t.Fatal(err)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	defer next.Close()
	if there, err := refersTo(next, name); err != nil || !there {
		t.Errorf("the lock is of a file that is gone: %v", err)
	}
	if third, err := openLocked(name, func() {}); !errors.Is(err, ErrLocked) {
		t.Errorf("a third has it too: %v, %v", third, err)
	}
}

func TestIsLocked(t *testing.T) {
	dir := t.TempDir()
	if locked, err := IsLocked(filepath.Join(dir, "none")); locked || err != nil {
		t.Errorf("without a ledger: %t, %v", locked, err)
	}
	l, err := Open(dir, Drivers{})
	if err != nil {
		t.Fatal(err)
	}
	if locked, err := IsLocked(dir); !locked || err != nil {
		t.Errorf("while it is open: %t, %v", locked, err)
	}
	l.Close()
	for range 2 { // IsLocked releases the lock
		if locked, err := IsLocked(dir); locked || err != nil {
			t.Errorf("after it was closed: %t, %v", locked, err)
		}
	}
	if l, err = Open(dir, Drivers{}); err != nil {
		t.Fatal(err)
	}
	l.Close()
}
