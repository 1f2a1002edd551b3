package host

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// Unmount takes the file system off a mount point of the running machine. It
// never does so lazily: what is busy stays, with an error.
func Unmount(point string) error {
	if err := unix.Unmount(point, unix.UMOUNT_NOFOLLOW); err != nil {
		return fmt.Errorf("unmounting %s: %w", point, err)
	}
	return nil
}
