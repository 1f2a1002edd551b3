// SPDX-License-Identifier: Apache-2.0

package crio

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/wait"

	"golang.org/x/sys/unix"
	"google.golang.org/grpc"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/cri"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostfs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

const (
	stopTimeout  = 2 * time.Minute // for one pod; CRI-O itself gives a network plugin one minute
	stopAttempts = 3               // for a pod whose network plugin reports an error
	stopPause    = 2 * time.Second // between two attempts
)

// StopPods stops and removes every pod of CRI-O and returns how many it removed.
// Kubelet must be stopped before. Without a socket there is nothing to do.
//
// Pods on the pod network are stopped first, because the network plugin that
// has to release their addresses is itself a pod on the host's network. A pod
// whose plugin no longer runs loses its network namespace instead. restart must
// restart CRI-O; older releases of CRI-O remove such a pod only at their start.
//
// A pod that cannot be stopped does not keep the others from being stopped; the
// error names all of them. StopPods uses the runtime's own interface, because
// crictl is not on every host.
func StopPods(ctx context.Context, socket string, restart func(context.Context) error, log report.Log) (int, error) {
	var stat unix.Stat_t
	if err := unix.Stat(socket, &stat); errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	connection, err := cri.Connect(socket)
	if err != nil {
		return 0, err
	}
	defer connection.Close()
	s := &stopper{runtime: runtimeapi.NewRuntimeServiceClient(connection), log: log}
	pods, err := s.list(ctx)
	if err != nil {
		return 0, err
	}
	failed := s.stopInOrder(ctx, pods)
	if len(failed) > 0 {
		failed = s.stopWithoutPlugin(ctx, failed, restart)
	}
	var errs []error
	for _, pod := range failed {
		errs = append(errs, fmt.Errorf("stopping pod %s: %w", pod.name, pod.err))
	}
	if len(errs) > 0 {
		return len(pods) - len(failed), report.Fail(report.Failed,
			"journalctl -b -u crio --no-pager -n 50\nhcp-node-agent leave", "%w", errors.Join(errs...))
	}
	return len(pods), nil
}

// stopper stops pods through the runtime's interface.
type stopper struct {
	runtime runtimeapi.RuntimeServiceClient
	log     report.Log
}

// podSandbox is a pod of the runtime.
type podSandbox struct {
	id, name    string
	hostNetwork bool
	err         error // of the last attempt to stop it
}

func (s *stopper) list(ctx context.Context, options ...grpc.CallOption) ([]podSandbox, error) {
	list, err := s.runtime.ListPodSandbox(ctx, &runtimeapi.ListPodSandboxRequest{}, options...)
	if err != nil {
		return nil, report.Fail(report.Failed, "systemctl start crio && hcp-node-agent leave",
			"listing CRI-O's pods: %w", err)
	}
	pods := make([]podSandbox, 0, len(list.GetItems()))
	for _, item := range list.GetItems() {
		pod := podSandbox{id: item.GetId(), name: item.GetMetadata().GetNamespace() + "/" +
			item.GetMetadata().GetName()}
		status, err := s.runtime.PodSandboxStatus(ctx, &runtimeapi.PodSandboxStatusRequest{PodSandboxId: pod.id})
		if err == nil { // a pod with unknown network mode is stopped first
			network := status.GetStatus().GetLinux().GetNamespaces().GetOptions().GetNetwork()
			pod.hostNetwork = network == runtimeapi.NamespaceMode_NODE
		}
		pods = append(pods, pod)
	}
	return pods, nil
}

// stopInOrder stops the pods on the pod network and then those on the host's,
// and returns the ones that failed.
func (s *stopper) stopInOrder(ctx context.Context, pods []podSandbox) []podSandbox {
	var onHost, onPodNetwork []podSandbox
	for _, pod := range pods {
		if pod.hostNetwork {
			onHost = append(onHost, pod)
		} else {
			onPodNetwork = append(onPodNetwork, pod)
		}
	}
	failed := s.stop(ctx, onPodNetwork)
	for attempt := 1; attempt < stopAttempts && len(failed) > 0 && len(onHost) > 0; attempt++ {
		if wait.Sleep(ctx, stopPause) != nil {
			break
		}
		failed = s.stop(ctx, failed)
	}
	return slices.Concat(failed, s.stop(ctx, onHost))
}

// stop stops and removes pods and returns those that failed, with their errors.
func (s *stopper) stop(ctx context.Context, pods []podSandbox) []podSandbox {
	var failed []podSandbox
	for _, pod := range pods {
		s.log.Wait("waiting for pod "+pod.name+" to stop", "")
		if pod.err = s.stopOne(ctx, pod.id); pod.err != nil {
			failed = append(failed, pod)
		}
	}
	return failed
}

func (s *stopper) stopOne(ctx context.Context, id string) error {
	ctx, cancel := context.WithTimeout(ctx, stopTimeout)
	defer cancel()
	if _, err := s.runtime.StopPodSandbox(ctx, &runtimeapi.StopPodSandboxRequest{PodSandboxId: id}); err != nil {
		return err
	}
	if _, err := s.runtime.RemovePodSandbox(ctx, &runtimeapi.RemovePodSandboxRequest{PodSandboxId: id}); err != nil {
		return fmt.Errorf("removing: %w", err)
	}
	return nil
}

// stopWithoutPlugin stops pods whose network plugin does not respond any more:
// it ends their containers and removes their network namespaces. It returns the
// pods that failed again, including every pod with a container that does not
// end, because the plugin is not the cause.
func (s *stopper) stopWithoutPlugin(
	ctx context.Context, pods []podSandbox, restart func(context.Context) error,
) []podSandbox {
	var failed, detached []podSandbox
	for _, pod := range pods {
		if !pod.hostNetwork && s.detach(ctx, &pod) {
			detached = append(detached, pod)
		} else {
			failed = append(failed, pod)
		}
	}
	stuck := s.stop(ctx, detached)
	if len(stuck) == 0 {
		return failed
	}
	// Older releases of CRI-O always call the plugin, but at their start they
	// delete the pods without a network namespace.
	s.log.Wait("waiting for CRI-O to restart, which removes pods without a network namespace", "")
	if err := restart(ctx); err != nil {
		s.log.Note(err.Error())
	}
	ctx, cancel := context.WithTimeout(ctx, stopTimeout)
	defer cancel()
	left, err := s.list(ctx, grpc.WaitForReady(true))
	if err != nil {
		return append(failed, stuck...)
	}
	for _, pod := range stuck {
		if slices.ContainsFunc(left, func(l podSandbox) bool { return l.id == pod.id }) {
			failed = append(failed, pod)
		}
	}
	return failed
}

// detach ends the containers of a pod and removes its network namespace, and
// reports whether both succeeded. On failure it updates the error of the pod.
func (s *stopper) detach(ctx context.Context, pod *podSandbox) bool {
	ctx, cancel := context.WithTimeout(ctx, stopTimeout)
	defer cancel()
	namespaces, err := s.endContainers(ctx, pod.id)
	if err != nil {
		pod.err = err
		return false
	}
	status, err := s.runtime.PodSandboxStatus(ctx,
		&runtimeapi.PodSandboxStatusRequest{PodSandboxId: pod.id, Verbose: true})
	if err == nil {
		namespaces = append(namespaces, networkNamespace(status.GetInfo()))
	}
	for _, namespace := range namespaces {
		if namespace == "" {
			continue
		}
		done, err := hostfs.DetachNamespace(namespace)
		if err != nil {
			pod.err = errors.Join(pod.err, err)
			return false
		}
		if done {
			s.log.Note(fmt.Sprintf("the network plugin does not respond (%v); network namespace %s of pod %s was "+
				"removed without the plugin",
				pod.err, namespace, pod.name))
		}
	}
	return true
}

// endContainers ends the containers of a pod and returns the network namespaces
// that they were in.
func (s *stopper) endContainers(ctx context.Context, id string) ([]string, error) {
	list, err := s.runtime.ListContainers(ctx,
		&runtimeapi.ListContainersRequest{Filter: &runtimeapi.ContainerFilter{PodSandboxId: id}})
	if err != nil {
		return nil, fmt.Errorf("listing its containers: %w", err)
	}
	var namespaces []string
	for _, container := range list.GetContainers() {
		status, err := s.runtime.ContainerStatus(ctx,
			&runtimeapi.ContainerStatusRequest{ContainerId: container.GetId(), Verbose: true})
		if err == nil {
			namespaces = append(namespaces, networkNamespace(status.GetInfo()))
		}
		if container.GetState() == runtimeapi.ContainerState_CONTAINER_EXITED {
			continue
		}
		if _, err := s.runtime.StopContainer(ctx,
			&runtimeapi.StopContainerRequest{ContainerId: container.GetId(), Timeout: cri.StopGrace}); err != nil {
			return nil, fmt.Errorf("stopping its container %s: %w", container.GetMetadata().GetName(), err)
		}
	}
	return namespaces, nil
}

// networkNamespace returns the path of the network namespace in the verbose
// status of a pod or container, "" where there is none.
func networkNamespace(info map[string]string) string {
	var details struct {
		RuntimeSpec struct {
			Linux struct {
				Namespaces []struct{ Type, Path string }
			}
		}
	}
	if json.Unmarshal([]byte(info["info"]), &details) != nil {
		return ""
	}
	for _, namespace := range details.RuntimeSpec.Linux.Namespaces {
		if namespace.Type == "network" {
			return namespace.Path
		}
	}
	return ""
}
