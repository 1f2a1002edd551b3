package kubelet

import (
	"context"
	"errors"
	"path"
	"time"

	"golang.org/x/sys/unix"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// Unmount takes off what kubelet left mounted for pods below directory, and
// what CRI-O left mounted there, the newest first. All other mounts below it,
// and the directory itself, can be the administrator's and stay. It never
// unmounts lazily, because what is deleted below such a mount would be deleted
// in the volume.
func Unmount(ctx context.Context, tree *host.Tree, directory string) ([]string, error) {
	var done []string
	var errs []error
	mounts, err := tree.Mounts(directory)
	if err != nil {
		return nil, err
	}
	for _, point := range mounts {
		if !leftBehind(point, directory) {
			continue
		}
		if err := unmount(ctx, point); err != nil {
			errs = append(errs, report.Fail(report.Failed, "fuser -vm "+point+" # shows who uses it; then run leave again", "%w", err))
			continue
		}
		done = append(done, point)
	}
	return done, errors.Join(errs...)
}

// leftBehind knows the mounts of kubelet (volumes, device plugins) and the one
// that CRI-O's storage library puts over its own overlay directory.
func leftBehind(point, directory string) bool {
	if point == path.Join(directory, "storage/overlay") {
		return true
	}
	for _, part := range []string{"pods", "plugins"} {
		if top := path.Join(directory, part); point != top && host.Within(point, top) {
			return true
		}
	}
	return false
}

// unmount tries for a while: a container that has just ended lets go late.
func unmount(ctx context.Context, point string) error {
	for try := 0; ; try++ {
		err := host.Unmount(point)
		if !errors.Is(err, unix.EBUSY) || try == 20 || !sleep(ctx, 250*time.Millisecond) {
			return err
		}
	}
}
