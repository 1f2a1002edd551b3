// SPDX-License-Identifier: Apache-2.0

package bootstrap

import (
	"context"

	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// revertObsolete restores the objects that the payload of an upgrade does not contain any more, and
// returns their number.
func (j *Flow) revertObsolete(ctx context.Context, log report.Log) (int, error) {
	if j.Run.State.Upgrade == nil {
		return 0, nil
	}
	items, err := j.Session.Obsolete(ctx, j.Plan)
	if err != nil {
		return 0, err
	}
	obsolete := map[string]bool{}
	for _, item := range items {
		obsolete[item.Key()] = true
	}
	return j.Host.Ledger.RevertAndWarn(ctx, log, func(item ledger.Item) bool { return obsolete[item.Key()] })
}
