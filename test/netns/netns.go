// SPDX-License-Identifier: Apache-2.0

// Package netns runs functions of tests in a network namespace.
package netns

import (
	"fmt"
	"runtime"

	"golang.org/x/sys/unix"
)

// Do calls fn on a thread in the namespace at path. Sockets that fn opens remain in the namespace.
func Do(path string, fn func() error) error {
	result := make(chan error, 1)
	go func() {
		// Not unlocked: the runtime ends the thread with the goroutine and does not reuse it.
		runtime.LockOSThread()
		fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
		if err != nil {
			result <- fmt.Errorf("opening a network namespace: %w", err)
			return
		}
		defer unix.Close(fd)
		if err := unix.Setns(fd, unix.CLONE_NEWNET); err != nil {
			result <- fmt.Errorf("entering a network namespace: %w", err)
			return
		}
		result <- fn()
	}()
	return <-result
}
