package hostfs

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// Unmount unmounts the file system at a mount point of the running host. It is
// never lazy: a busy file system remains mounted and is an error.
func Unmount(point string) error {
	if err := unix.Unmount(point, unix.UMOUNT_NOFOLLOW); err != nil {
		return fmt.Errorf("unmounting %s: %w", point, err)
	}
	return nil
}
