package kubelet

import (
	"fmt"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
)

// connectCRI returns a connection to CRI-O that is established by the first
// call.
func connectCRI(socket string) (*grpc.ClientConn, error) {
	connection, err := grpc.NewClient("unix://"+socket, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return nil, fmt.Errorf("connecting to CRI-O: %w", err)
	}
	return connection, nil
}
