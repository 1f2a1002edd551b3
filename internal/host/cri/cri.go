// SPDX-License-Identifier: Apache-2.0

// Package cri calls CRI-O through the Container Runtime Interface, because
// crictl is not on every host. Start reading at Connect.
package cri

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/hcp-node-agent/hcp-node-agent/internal/trace"
	"github.com/hcp-node-agent/hcp-node-agent/internal/wrap"
)

// Socket is the path of the socket on which CRI-O listens.
const Socket = "/var/run/crio/crio.sock"

// StopGrace is the time until CRI-O kills a container that it stops, in seconds.
const StopGrace = 10

// Connect returns a connection to CRI-O that is established by the first call.
func Connect(socket string) (*grpc.ClientConn, error) {
	connection, err := grpc.NewClient("unix://"+socket, grpc.WithTransportCredentials(insecure.NewCredentials()))
	return connection, wrap.Errorf(err, "connecting to CRI-O")
}

// IsListening reports whether the socket exists.
func IsListening(socket string) bool {
	_, err := os.Stat(socket)
	return err == nil
}

// Version returns the version of the running CRI-O. It fails if CRI-O does not respond before ctx ends.
func Version(ctx context.Context, socket string) (string, error) {
	response, err := call(ctx, socket, runtimeapi.NewRuntimeServiceClient, runtimeapi.RuntimeServiceClient.Version,
		&runtimeapi.VersionRequest{})
	return response.GetRuntimeVersion(), err
}

// call connects to CRI-O and calls one method of a client that newClient returns.
func call[Client, Request, Response any](
	ctx context.Context, socket string, newClient func(grpc.ClientConnInterface) Client,
	method func(Client, context.Context, *Request, ...grpc.CallOption) (*Response, error), request *Request,
) (*Response, error) {
	defer trace.Start(ctx, trace.Request, fmt.Sprintf("CRI %T", request))()
	connection, err := Connect(socket)
	if err != nil {
		return nil, err
	}
	defer connection.Close()
	return method(newClient(connection), ctx, request)
}

// Pull has CRI-O pull an image with its mirrors, proxies and pull secret. Of an
// image that exists on the host only the manifest is fetched.
func Pull(ctx context.Context, socket, image string) error {
	_, err := call(ctx, socket, runtimeapi.NewImageServiceClient, runtimeapi.ImageServiceClient.PullImage,
		&runtimeapi.PullImageRequest{Image: &runtimeapi.ImageSpec{Image: image}})
	return err
}

// HasImage reports whether an image exists on the host under this name.
func HasImage(ctx context.Context, socket, image string) (bool, error) {
	status, err := call(ctx, socket, runtimeapi.NewImageServiceClient, runtimeapi.ImageServiceClient.ImageStatus,
		&runtimeapi.ImageStatusRequest{Image: &runtimeapi.ImageSpec{Image: image}})
	return status.GetImage() != nil, wrap.Errorf(err, "searching for image %s", image)
}

// RunningContainers returns the IDs of the running containers.
func RunningContainers(ctx context.Context, socket string) ([]string, error) {
	running := &runtimeapi.ContainerStateValue{State: runtimeapi.ContainerState_CONTAINER_RUNNING}
	list, err := call(ctx, socket, runtimeapi.NewRuntimeServiceClient, runtimeapi.RuntimeServiceClient.ListContainers,
		&runtimeapi.ListContainersRequest{Filter: &runtimeapi.ContainerFilter{State: running}})
	if err != nil {
		return nil, fmt.Errorf("listing the running containers: %w", err)
	}
	var ids []string
	for _, container := range list.GetContainers() {
		ids = append(ids, container.GetId())
	}
	return ids, nil
}

// StopOlder stops the running containers of a pod that were created before a time, and returns their
// number. kubelet starts the containers of a static pod again.
func StopOlder(ctx context.Context, socket, namespace, pod string, created time.Time) (int, error) {
	connection, err := Connect(socket)
	if err != nil {
		return 0, err
	}
	defer connection.Close()
	runtime := runtimeapi.NewRuntimeServiceClient(connection)
	list, err := runtime.ListContainers(ctx, &runtimeapi.ListContainersRequest{Filter: &runtimeapi.ContainerFilter{
		State:         &runtimeapi.ContainerStateValue{State: runtimeapi.ContainerState_CONTAINER_RUNNING},
		LabelSelector: map[string]string{"io.kubernetes.pod.namespace": namespace, "io.kubernetes.pod.name": pod},
	}})
	if err != nil {
		return 0, fmt.Errorf("listing the containers of pod %s/%s: %w", namespace, pod, err)
	}
	stopped := 0
	for _, container := range list.GetContainers() {
		if !time.Unix(0, container.GetCreatedAt()).Before(created) {
			continue
		}
		request := &runtimeapi.StopContainerRequest{ContainerId: container.GetId(), Timeout: StopGrace}
		if _, err := runtime.StopContainer(ctx, request); err != nil {
			name := container.GetMetadata().GetName()
			return stopped, fmt.Errorf("stopping container %s of pod %s/%s: %w", name, namespace, pod, err)
		}
		stopped++
	}
	return stopped, nil
}

// Image is an image in the storage of CRI-O.
type Image struct {
	ID   string // hexadecimal
	Name string // a tag or digest of the image, or its ID if it has none
}

// Images returns the images in the storage, which podman shares.
func Images(ctx context.Context, socket string) ([]Image, error) {
	list, err := call(ctx, socket, runtimeapi.NewImageServiceClient, runtimeapi.ImageServiceClient.ListImages,
		&runtimeapi.ListImagesRequest{})
	if err != nil {
		return nil, fmt.Errorf("listing CRI-O's images: %w", err)
	}
	var images []Image
	for _, item := range list.GetImages() {
		names := slices.Concat(item.GetRepoTags(), item.GetRepoDigests(), []string{item.GetId()})
		images = append(images, Image{ID: strings.TrimPrefix(item.GetId(), "sha256:"), Name: names[0]})
	}
	return images, nil
}

// RemoveImage removes an image with all its names. It fails if a container uses the image.
func RemoveImage(ctx context.Context, socket, id string) error {
	_, err := call(ctx, socket, runtimeapi.NewImageServiceClient, runtimeapi.ImageServiceClient.RemoveImage,
		&runtimeapi.RemoveImageRequest{Image: &runtimeapi.ImageSpec{Image: id}})
	return err
}
