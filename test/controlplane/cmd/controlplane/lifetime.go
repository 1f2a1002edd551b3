// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// discardUntilEOF blocks until the stream ends.
func discardUntilEOF(stream io.Reader) {
	_, _ = io.Copy(io.Discard, stream)
}

// onProcessExit calls exited when the process exits, which need not be the parent.
func onProcessExit(pid int, ended func()) error {
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return fmt.Errorf("watching process %d: %w", pid, err)
	}
	go func() {
		handle := os.NewFile(uintptr(fd), "pidfd")
		defer handle.Close()
		for {
			//nolint:gosec // descriptors are small numbers
			n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, -1)
			if n > 0 || (err != nil && err != unix.EINTR) {
				ended()
				return
			}
		}
	}()
	return nil
}
