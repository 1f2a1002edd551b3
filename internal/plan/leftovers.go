// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"context"
	"fmt"

	"github.com/hcp-node-agent/hcp-node-agent/internal/lists"
	"github.com/hcp-node-agent/hcp-node-agent/internal/othercluster"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// leftovers returns a refusal if the host has files of another cluster, and no record of a change: kubelet would use
// its certificates and run its static pods. On RHEL CoreOS, the payload of the first boot has the same files.
func (s *Session) leftovers(ctx context.Context) (refusal, err error) {
	l := s.Host.Ledger // not the state, which a join writes before its checks
	if l == nil || len(l.Items()) > 0 || s.Host.Facts.Capabilities().OwnsPayload {
		return nil, nil
	}
	found, err := othercluster.Find(ctx, s.Host.Files, othercluster.PackageOwners())
	if err != nil || len(found) == 0 {
		return nil, err
	}
	texts := lists.Map(found, func(l othercluster.Leftover) string { return fmt.Sprintf("%s (%s)", l.Path, l.What) })
	return report.Fail(report.Refused, "hcp-node-agent leave --leftovers --dry-run # lists all of them; without "+
		"--dry-run, it removes them\nhcp-node-agent join --adopt # only if this host runs as a node of the same cluster",
		"this host has files of another cluster, and no record of its join: %s",
		report.AbbreviateList(texts)), nil
}
