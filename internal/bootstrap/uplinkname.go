package bootstrap

import (
	"context"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ovs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// UplinkNameDocument tells what the uplink of br-ex is called.
type UplinkNameDocument struct {
	report.TypeMeta
	Before string `json:"before,omitempty"` // as its profiles had it; "" where the agent has made no br-ex whose NIC is known by its MAC
	Now    string `json:"now,omitempty"`
}

// FollowUplink is what a unit does at boot, before NetworkManager starts. It is
// not in the ledger: br-ex is, whatever its NIC is called, and leave takes the
// profiles away.
func FollowUplink(ctx context.Context) (UplinkNameDocument, error) {
	document := UplinkNameDocument{TypeMeta: report.Meta("UplinkNameResult")}
	tree, err := host.OpenTree("/")
	if err != nil {
		return document, err
	}
	defer tree.Close()
	document.Before, document.Now, err = ovs.FollowUplink(ctx, tree)
	return document, err
}
