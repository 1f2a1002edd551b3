// SPDX-License-Identifier: Apache-2.0

package hostinfo

import (
	"path/filepath"
	"testing"
)

func TestFileSystemUsage(t *testing.T) {
	usage, err := FileSystemUsage(t.TempDir())
	if err != nil || usage.Size == 0 || usage.Free == 0 || usage.Free > usage.Size || usage.Unused > usage.Inodes {
		t.Errorf("LookUsage() = %+v, %v", usage, err)
	}
	if _, err := FileSystemUsage(filepath.Join(t.TempDir(), "none")); err == nil {
		t.Error("LookUsage() of nothing has no error")
	}
}

func TestMemoryAndTasks(t *testing.T) {
	if available, total := MemoryAvailable(); available <= 0 || available > total {
		t.Errorf("MemoryAvailable() = %d of %d", available, total)
	}
	if running, most := Tasks(); running <= 0 || most <= running {
		t.Errorf("Tasks() = %d of %d", running, most)
	}
}
