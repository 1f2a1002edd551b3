// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"context"
	"strings"

	"github.com/hcp-node-agent/hcp-node-agent/internal/joinstate"
	"github.com/hcp-node-agent/hcp-node-agent/internal/nodecheck"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ovs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/steps"
)

func inspectBridge(ctx context.Context, d *diagnostics) ([]report.Finding, error) {
	status, err := ovs.GatherStatus(ctx, d.host.NetworkManager)
	return bridgeFindings(status, d.run.State.HasCompleted(steps.Network)), err
}

// bridgeFindings returns the findings about br-ex. required means that br-ex must exist.
func bridgeFindings(s ovs.Status, required bool) []report.Finding {
	switch {
	case !s.Present && required:
		remedy := report.Remedy("hcp-node-agent join --only network # creates br-ex again")
		if s.Missing == ovs.BridgeDefaultRoute {
			remedy = "nmcli device reapply " + ovs.BridgeName + " # adds the routes of its profile again"
		}
		unusable := problem(remedy, "%s", s)
		unusable.Reason = bridgeUnusable
		return []report.Finding{unusable}
	case !s.Present && s.Exists:
		return []report.Finding{note("ovs-vsctl show", "%s", s)}
	case !s.Present:
		return nil
	}
	findings := []report.Finding{passed("%s", s)}
	if profile := s.Profile; profile != nil && profile.File == "" {
		// Any modification stores a profile on disk, also one that changes nothing.
		store := report.Remedyf("nmcli connection modify %s connection.id %s", profile.UUID, profile.Name)
		findings = append(findings, warning(store,
			"NetworkManager profile %s of br-ex is not stored on disk and will be lost at a reboot", profile.Name))
	}
	return findings
}

// inspectPaths measures the paths to some other nodes.
func inspectPaths(ctx context.Context, _ *diagnostics) ([]report.Finding, error) {
	var paths nodecheck.Paths
	findings, measured, err := paths.Find(ctx)
	if len(measured.Wide) > 0 {
		findings = append(findings, passed("large packets of the overlay network reach %s",
			strings.Join(measured.Wide, ", ")))
	}
	if len(measured.Silent) > 0 {
		findings = append(findings, note("",
			"the MTU of the path is unknown, because there is no reply to ICMP echo requests: %s",
			strings.Join(measured.Silent, ", ")))
	}
	return findings, err
}

// inspectHostChanges compares the host name and the addresses of a joined host with those
// of its Node.
func inspectHostChanges(ctx context.Context, d *diagnostics) ([]report.Finding, error) {
	if d.phase() != joinstate.PhaseJoined {
		return nil, nil
	}
	facts, err := nodecheck.GatherHost(ctx, d.host.Units, d.run.Dir, d.run.State.NodeName)
	return facts.Findings(), err
}
