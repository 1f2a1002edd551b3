package bootstrap

import (
	"context"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/command"
)

// UpdateTrustStore updates the trust store from the CAs on this host if
// update-ca-trust is installed.
func UpdateTrustStore(ctx context.Context) error {
	if !command.Exists("update-ca-trust") {
		return nil
	}
	_, err := command.Run(ctx, "update-ca-trust")
	return err
}
