// SPDX-License-Identifier: Apache-2.0

package kubelet

import (
	"context"
	"errors"
	"path"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/wait"

	"golang.org/x/sys/unix"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostfs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// Unmount unmounts what kubelet and CRI-O left mounted below directory, the
// newest first, and returns the mount points. Other mounts below directory, and
// directory itself, may be the administrator's and remain. Unmount never
// unmounts lazily, because a later deletion below such a mount would delete
// data in the volume.
func Unmount(ctx context.Context, tree *hostfs.Tree, directory string) ([]string, error) {
	var done []string
	var errs []error
	mounts, err := tree.Mounts(directory)
	if err != nil {
		return nil, err
	}
	for _, point := range mounts {
		if !isKubeletMount(point, directory) {
			continue
		}
		if err := unmountWithRetry(ctx, point); err != nil {
			errs = append(errs, report.Fail(report.Failed,
				report.Remedy("fuser -vm "+point+" # shows the processes that use it; then run leave again"), "%w", err))
			continue
		}
		done = append(done, point)
	}
	return done, errors.Join(errs...)
}

// isKubeletMount reports whether point is a mount of kubelet (volumes, device
// plugins) or the mount of CRI-O's storage library over its own overlay
// directory.
func isKubeletMount(point, directory string) bool {
	if point == path.Join(directory, "storage/overlay") {
		return true
	}
	for _, part := range []string{"pods", "plugins"} {
		if top := path.Join(directory, part); point != top && hostfs.IsWithin(point, top) {
			return true
		}
	}
	return false
}

// unmountWithRetry retries for some seconds, because a container that has just ended can
// keep the mount busy.
func unmountWithRetry(ctx context.Context, point string) error {
	for try := 0; ; try++ {
		err := hostfs.Unmount(point)
		if !errors.Is(err, unix.EBUSY) || try == 20 || wait.Sleep(ctx, 250*time.Millisecond) != nil {
			return err
		}
	}
}
