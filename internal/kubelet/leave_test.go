package kubelet

import (
	"context"
	"errors"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"google.golang.org/grpc"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/google/go-cmp/cmp"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// runtime speaks enough of the runtime's interface for an end of all pods.
type runtime struct {
	cri.UnimplementedRuntimeServiceServer
	mu    sync.Mutex
	pods  []string
	stuck string // does not stop
}

func (r *runtime) ListPodSandbox(context.Context, *cri.ListPodSandboxRequest) (*cri.ListPodSandboxResponse, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	response := &cri.ListPodSandboxResponse{}
	for _, id := range r.pods {
		response.Items = append(response.Items, &cri.PodSandbox{Id: id, Metadata: &cri.PodSandboxMetadata{Namespace: "ns", Name: id}})
	}
	return response, nil
}

func (r *runtime) StopPodSandbox(_ context.Context, request *cri.StopPodSandboxRequest) (*cri.StopPodSandboxResponse, error) {
	if request.GetPodSandboxId() == r.stuck {
		return nil, errors.New("its container does not end")
	}
	return &cri.StopPodSandboxResponse{}, nil
}

func (r *runtime) RemovePodSandbox(_ context.Context, request *cri.RemovePodSandboxRequest) (*cri.RemovePodSandboxResponse, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.pods = slices.DeleteFunc(r.pods, func(id string) bool { return id == request.GetPodSandboxId() })
	return &cri.RemovePodSandboxResponse{}, nil
}

func TestStopContainers(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "crio.sock")
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	service := &runtime{pods: []string{"a", "b", "c"}, stuck: "b"}
	server := grpc.NewServer()
	cri.RegisterRuntimeServiceServer(server, service)
	go func() { _ = server.Serve(listener) }() // ends with Stop
	defer server.Stop()

	count, err := StopContainers(t.Context(), socket, (&recorder{}).log())
	if count != 2 || err == nil || !strings.Contains(err.Error(), "ending pod ns/b: stopping") {
		t.Errorf("StopContainers() = %d, %v; want 2 and the one that is stuck", count, err)
	}
	if diff := cmp.Diff([]string{"b"}, service.pods); diff != "" {
		t.Errorf("pods left (-want +got):\n%s", diff)
	}
}

func TestStopContainersWithoutRuntime(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "crio.sock")
	if count, err := StopContainers(t.Context(), socket, report.Log{}); count != 0 || err != nil {
		t.Errorf("StopContainers() = %d, %v without CRI-O", count, err)
	}
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	listener.(*net.UnixListener).SetUnlinkOnClose(false) // as a killed CRI-O leaves it
	listener.Close()
	if _, err := StopContainers(t.Context(), socket, report.Log{}); err == nil || !strings.Contains(report.RemedyOf(err), "systemctl start crio") {
		t.Errorf("StopContainers() = %v (%s) with a CRI-O that is down", err, report.RemedyOf(err))
	}
}

func TestWhatIsUnmounted(t *testing.T) {
	tests := []struct {
		point, directory string
		want             bool
	}{
		{"/var/lib/kubelet/pods/1/volumes/kubernetes.io~projected/token", "/var/lib/kubelet", true},
		{"/var/lib/kubelet/plugins/kubernetes.io/csi/pv/globalmount", "/var/lib/kubelet", true},
		{"/var/lib/kubelet", "/var/lib/kubelet", false}, // a disk of its own
		{"/var/lib/kubelet/pods", "/var/lib/kubelet", false},
		{"/var/lib/kubelet/pods-of-ours", "/var/lib/kubelet", false},
		{"/var/lib/containers/storage/overlay", "/var/lib/containers", true},
		{"/var/lib/containers/storage/overlay/1/merged", "/var/lib/containers", false}, // podman's
		{"/var/lib/containers/storage", "/var/lib/containers", false},
		{"/var/lib/containers", "/var/lib/containers", false},
	}
	for _, test := range tests {
		if got := leftBehind(test.point, test.directory); got != test.want {
			t.Errorf("leftBehind(%s, %s) = %v, want %v", test.point, test.directory, got, test.want)
		}
	}
}

func TestWhoLeaves(t *testing.T) {
	yes := true
	pod := func(name, owner string, change func(*corev1.Pod)) *corev1.Pod {
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name}}
		if owner != "" {
			p.OwnerReferences = []metav1.OwnerReference{{Kind: owner, Name: "o", Controller: &yes}}
		}
		if change != nil {
			change(p)
		}
		return p
	}
	leaving, lost := whoLeaves([]*corev1.Pod{
		pod("daemon", "DaemonSet", nil),
		pod("replica", "ReplicaSet", nil),
		pod("static", "Node", func(p *corev1.Pod) { p.Annotations = map[string]string{corev1.MirrorPodAnnotationKey: "x"} }),
		pod("done", "Job", func(p *corev1.Pod) { p.Status.Phase = corev1.PodSucceeded }),
		pod("bare", "", nil),
	})
	if diff := cmp.Diff([]string{"ns/replica", "ns/bare"}, namesOfPods(leaving)); diff != "" {
		t.Errorf("leaving (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"ns/bare"}, lost); diff != "" {
		t.Errorf("lost (-want +got):\n%s", diff)
	}
}
