// SPDX-License-Identifier: Apache-2.0

package service

import (
	"context"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostfs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ovs/bootunits"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// UplinkNameResult contains the interface name of br-ex's uplink.
type UplinkNameResult struct {
	report.TypeMeta
	Before string `json:"before,omitempty" doc:"name in the profiles of br-ex, if they identify the uplink by its MAC"`
	Now    string `json:"now,omitempty" doc:"current name of the uplink"`
	report.CommandResult
}

// FollowUplink updates the profiles of br-ex after a rename of the NIC. A unit runs
// it at boot before NetworkManager starts. The ledger does not record the update:
// it records br-ex, whatever the name of its NIC, and leave removes the profiles.
func FollowUplink(ctx context.Context) (UplinkNameResult, error) {
	document := UplinkNameResult{TypeMeta: report.Meta("UplinkNameResult")}
	tree, err := hostfs.OpenTree("/")
	if err != nil {
		return document, err
	}
	defer tree.Close()
	document.Before, document.Now, err = bootunits.UpdateUplinkName(ctx, tree)
	return document, err
}
