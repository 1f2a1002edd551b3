package kubelet

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"time"

	"golang.org/x/sys/unix"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// CRIOSocket is where CRI-O listens.
const CRIOSocket = "/var/run/crio/crio.sock"

// StopContainers ends and removes every pod of CRI-O, after kubelet has been
// stopped so that nothing starts them again. It goes on past a pod that does
// not end, and tells about all of them. Without a socket there is nothing to
// do.
//
// It speaks the runtime's own interface, because crictl is not on every host.
func StopContainers(ctx context.Context, socket string, log report.Log) (int, error) {
	var stat unix.Stat_t
	if err := unix.Stat(socket, &stat); errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	connection, err := connectCRI(socket)
	if err != nil {
		return 0, err
	}
	defer connection.Close()
	runtime := cri.NewRuntimeServiceClient(connection)
	list, err := runtime.ListPodSandbox(ctx, &cri.ListPodSandboxRequest{})
	if err != nil {
		return 0, report.Fail(report.Failed, "systemctl start crio # then run leave again", "asking CRI-O for its pods: %w", err)
	}
	var errs []error
	for _, pod := range list.GetItems() {
		name := pod.GetMetadata().GetNamespace() + "/" + pod.GetMetadata().GetName()
		log.Wait("pod "+name+" to end", "")
		if err := stopPod(ctx, runtime, pod.GetId()); err != nil {
			errs = append(errs, fmt.Errorf("ending pod %s: %w", name, err))
		}
	}
	return len(list.GetItems()) - len(errs), errors.Join(errs...)
}

func stopPod(ctx context.Context, runtime cri.RuntimeServiceClient, id string) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	if _, err := runtime.StopPodSandbox(ctx, &cri.StopPodSandboxRequest{PodSandboxId: id}); err != nil {
		return fmt.Errorf("stopping: %w", err)
	}
	if _, err := runtime.RemovePodSandbox(ctx, &cri.RemovePodSandboxRequest{PodSandboxId: id}); err != nil {
		return fmt.Errorf("removing: %w", err)
	}
	return nil
}

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
