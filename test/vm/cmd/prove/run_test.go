// SPDX-License-Identifier: Apache-2.0

package main

import "testing"

// TestLogsAreLocked checks that a second run is refused while the first one writes its logs.
func TestLogsAreLocked(t *testing.T) {
	directory := t.TempDir()
	lock, err := lockLogs(directory)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := lockLogs(directory); err == nil {
		t.Error("a second run was not refused")
	}
	if err := lock.Close(); err != nil {
		t.Fatal(err)
	}
	if again, err := lockLogs(directory); err != nil || again.Close() != nil {
		t.Errorf("the lock was not released: %v", err)
	}
}
