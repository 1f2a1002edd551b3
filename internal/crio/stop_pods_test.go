// SPDX-License-Identifier: Apache-2.0

package crio

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
	"google.golang.org/grpc"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/test/reporttest"
)

// fakeRuntime is a CRI-O whose pods on the pod network can only be stopped while
// the pod of their network plugin is running.
type fakeRuntime struct {
	runtimeapi.UnimplementedRuntimeServiceServer
	mu                sync.Mutex
	pods              []string
	onHost            []string          // pods on the host's network
	plugin            string            // the pod without which no other pod stops; "" for none
	containers        map[string]string // pods with a running container; "stuck" for a container that does not end
	namespaces        map[string]string // files of network namespaces by pod
	alwaysCallsPlugin bool              // an older CRI-O, which never stops a pod without its plugin
	stopped           []string
}

func (r *fakeRuntime) ListPodSandbox(
	context.Context, *runtimeapi.ListPodSandboxRequest,
) (*runtimeapi.ListPodSandboxResponse, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	response := &runtimeapi.ListPodSandboxResponse{}
	for _, id := range r.pods {
		metadata := &runtimeapi.PodSandboxMetadata{Namespace: "ns", Name: id}
		response.Items = append(response.Items, &runtimeapi.PodSandbox{Id: id, Metadata: metadata})
	}
	return response, nil
}

func (r *fakeRuntime) PodSandboxStatus(
	_ context.Context, request *runtimeapi.PodSandboxStatusRequest,
) (*runtimeapi.PodSandboxStatusResponse, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	options := &runtimeapi.NamespaceOption{Network: runtimeapi.NamespaceMode_POD}
	if slices.Contains(r.onHost, request.GetPodSandboxId()) {
		options.Network = runtimeapi.NamespaceMode_NODE
	}
	response := &runtimeapi.PodSandboxStatusResponse{Status: &runtimeapi.PodSandboxStatus{
		Linux: &runtimeapi.LinuxPodSandboxStatus{Namespaces: &runtimeapi.Namespace{Options: options}},
	}}
	if request.GetVerbose() {
		response.Info = map[string]string{"info": fmt.Sprintf(
			`{"image":"","pid":0,"runtimeSpec":{"ociVersion":"1.2.0","linux":{"namespaces":[{"type":"ipc"},`+
				`{"type":"network","path":%q}]}}}`,
			r.namespaces[request.GetPodSandboxId()],
		)}
	}
	return response, nil
}

func (r *fakeRuntime) ListContainers(
	_ context.Context, request *runtimeapi.ListContainersRequest,
) (*runtimeapi.ListContainersResponse, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	pod := request.GetFilter().GetPodSandboxId()
	if r.containers[pod] == "" {
		return &runtimeapi.ListContainersResponse{}, nil
	}
	return &runtimeapi.ListContainersResponse{Containers: []*runtimeapi.Container{{
		Id:           pod,
		PodSandboxId: pod,
		Metadata:     &runtimeapi.ContainerMetadata{Name: "main"},
		State:        runtimeapi.ContainerState_CONTAINER_RUNNING,
	}}}, nil
}

func (r *fakeRuntime) StopContainer(
	_ context.Context, request *runtimeapi.StopContainerRequest,
) (*runtimeapi.StopContainerResponse, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.containers[request.GetContainerId()] == "stuck" {
		return nil, errors.New("its process does not end")
	}
	delete(r.containers, request.GetContainerId())
	return &runtimeapi.StopContainerResponse{}, nil
}

// StopPodSandbox calls the plugin first. If that fails, CRI-O 1.34 removes the
// file of network namespace and stops the pod anyway, which works only if
// no namespace is mounted on the file.
func (r *fakeRuntime) StopPodSandbox(
	_ context.Context, request *runtimeapi.StopPodSandboxRequest,
) (*runtimeapi.StopPodSandboxResponse, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	id := request.GetPodSandboxId()
	if !slices.Contains(r.onHost, id) && r.plugin != "" && !slices.Contains(r.pods, r.plugin) {
		err := errors.New("failed to destroy network: dial unix /var/run/ovn-kubernetes/cni/ovn-cni-server.sock: " +
			"connect: connection refused")
		if r.alwaysCallsPlugin || r.namespaces[id] == "" {
			return nil, err
		}
		if removal := os.RemoveAll(r.namespaces[id]); removal != nil {
			return nil, errors.Join(err, removal)
		}
	}
	if r.containers[id] == "stuck" {
		return nil, errors.New("a container does not end")
	}
	r.stopped = append(r.stopped, id)
	return &runtimeapi.StopPodSandboxResponse{}, nil
}

func (r *fakeRuntime) RemovePodSandbox(
	_ context.Context, request *runtimeapi.RemovePodSandboxRequest,
) (*runtimeapi.RemovePodSandboxResponse, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.pods = slices.DeleteFunc(r.pods, func(id string) bool { return id == request.GetPodSandboxId() })
	return &runtimeapi.RemovePodSandboxResponse{}, nil
}

// restart simulates the start of CRI-O, which deletes the pods whose file is no
// network namespace.
func (r *fakeRuntime) restart(context.Context) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.pods = slices.DeleteFunc(r.pods, func(id string) bool {
		return r.namespaces[id] != "" && !isNamespace(r.namespaces[id])
	})
	return nil
}

func isNamespace(path string) bool {
	var stat unix.Statfs_t
	return unix.Statfs(path, &stat) == nil && stat.Type == unix.NSFS_MAGIC
}

func (r *fakeRuntime) serve(t *testing.T) string {
	t.Helper()
	socket := filepath.Join(t.TempDir(), "crio.sock")
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer()
	runtimeapi.RegisterRuntimeServiceServer(server, r)
	go func() { _ = server.Serve(listener) }() // ends with Stop
	t.Cleanup(server.Stop)
	return socket
}

// namespaceFile returns a file with a network namespace mounted on it, as CRI-O
// makes them below /run/netns.
func namespaceFile(t *testing.T) string {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("mounting needs root")
	}
	file := filepath.Join(t.TempDir(), "netns")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount("/proc/self/ns/net", file, "", unix.MS_BIND, ""); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Unmount(file, unix.MNT_DETACH) }) // mounted only if the test failed
	return file
}

func TestPodNetworkPodsStopBeforeNetworkPlugin(t *testing.T) {
	r := &fakeRuntime{
		pods: []string{"ovnkube", "app", "multus", "web"}, onHost: []string{"ovnkube", "multus"},
		plugin: "ovnkube",
	}
	count, err := StopPods(t.Context(), r.serve(t), r.restart, (&reporttest.Recorder{}).Log())
	if count != 4 || err != nil {
		t.Errorf("StopPods() = %d, %v", count, err)
	}
	if diff := cmp.Diff([]string{"app", "web", "ovnkube", "multus"}, r.stopped); diff != "" {
		t.Errorf("stopped (-want +got):\n%s", diff)
	}
}

func TestPodsStopWithoutNetworkPlugin(t *testing.T) {
	for name, always := range map[string]bool{"CRI-O 1.34": false, "CRI-O that needs a restart": true} {
		t.Run(name, func(t *testing.T) {
			file := namespaceFile(t)
			r := &fakeRuntime{
				pods:              []string{"app"},
				plugin:            "ovnkube",
				alwaysCallsPlugin: always,
				namespaces:        map[string]string{"app": file},
				containers:        map[string]string{"app": "runs"},
			}
			recorded := &reporttest.Recorder{}
			count, err := StopPods(t.Context(), r.serve(t), r.restart, recorded.Log())
			if count != 1 || err != nil || len(r.pods) != 0 {
				t.Errorf("StopPods() = %d, %v; left %q", count, err, r.pods)
			}
			if isNamespace(file) {
				t.Error("network namespace is still mounted")
			}
			if !strings.Contains(recorded.Text(),
				"network namespace "+file+" of pod ns/app was removed without the plugin") {
				t.Errorf("printed:\n%s", recorded.Text())
			}
		})
	}
}

func TestPodWithStuckContainerKeepsNetwork(t *testing.T) {
	file := namespaceFile(t)
	r := &fakeRuntime{
		pods: []string{
			"a", "b",
			"c",
		}, containers: map[string]string{"b": "stuck"}, namespaces: map[string]string{"b": file},
	}
	count, err := StopPods(t.Context(), r.serve(t), r.restart, (&reporttest.Recorder{}).Log())
	if count != 2 || err == nil || !strings.Contains(err.Error(), "stopping pod ns/b: stopping its container main") {
		t.Errorf("StopPods() = %d, %v; want 2 and the error of pod b", count, err)
	}
	if !strings.HasSuffix(string(report.RemedyOf(err)), "hcp-node-agent leave") {
		t.Errorf("remedy %q", report.RemedyOf(err))
	}
	if !slices.Equal(r.pods, []string{"b"}) || !isNamespace(file) {
		t.Errorf("left %q, namespace mounted: %v", r.pods, isNamespace(file))
	}
}

func TestStopPodsWithoutRuntime(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "crio.sock")
	if count, err := StopPods(t.Context(), socket, nil, report.Log{}); count != 0 || err != nil {
		t.Errorf("StopPods() = %d, %v without CRI-O", count, err)
	}
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	listener.(*net.UnixListener).SetUnlinkOnClose(false) // as a killed CRI-O leaves it
	listener.Close()
	if _, err := StopPods(t.Context(), socket, nil, report.Log{}); !strings.HasPrefix(string(report.RemedyOf(err)),
		"systemctl start crio") {
		t.Errorf("StopPods() = %v (%s) with a CRI-O that does not run", err, report.RemedyOf(err))
	}
}
