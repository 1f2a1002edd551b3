// SPDX-License-Identifier: Apache-2.0

package crio

import (
	"context"
	"fmt"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/cri"
)

// RunningContainers returns the IDs of the running containers.
func RunningContainers(ctx context.Context, socket string) ([]string, error) {
	connection, err := cri.Connect(socket)
	if err != nil {
		return nil, err
	}
	defer connection.Close()
	running := &runtimeapi.ContainerStateValue{State: runtimeapi.ContainerState_CONTAINER_RUNNING}
	list, err := runtimeapi.NewRuntimeServiceClient(connection).ListContainers(ctx,
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
