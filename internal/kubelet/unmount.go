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
// directory itself, may be the administrator's and remain. Symbolic links to
// directory, and in it, are followed, because the mount table contains real
// paths. Unmount never unmounts lazily, because a later deletion below such a
// mount would delete data in the volume.
func Unmount(ctx context.Context, tree *hostfs.Tree, directory string) ([]string, error) {
	points, err := kubeletMounts(tree, directory)
	if err != nil {
		return nil, err
	}
	var done []string
	var errs []error
	for _, point := range points {
		if err := unmountWithRetry(ctx, point); err != nil {
			errs = append(errs, report.Fail(report.Failed,
				report.Remedy("fuser -vm "+point+" # shows the processes that use it; then run leave again"), "%w", err))
			continue
		}
		done = append(done, point)
	}
	return done, errors.Join(errs...)
}

// kubeletMounts returns the mount points of kubelet (volumes, device plugins) below directory, and the mount of
// CRI-O's storage library over its own overlay directory.
func kubeletMounts(tree *hostfs.Tree, directory string) ([]string, error) {
	var points []string
	for _, part := range []string{"pods", "plugins", "storage/overlay"} {
		top, err := tree.RealPath(path.Join(directory, part))
		if err != nil {
			return nil, err
		}
		mounts, err := tree.Mounts(path.Join(directory, part))
		if err != nil {
			return nil, err
		}
		for _, point := range mounts {
			if (point == top) == (part == "storage/overlay") {
				points = append(points, point)
			}
		}
	}
	return points, nil
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
