// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/hcp-node-agent/hcp-node-agent/internal/crio"
	"github.com/hcp-node-agent/hcp-node-agent/internal/identity"
	"github.com/hcp-node-agent/hcp-node-agent/internal/kubelet"
	"github.com/hcp-node-agent/hcp-node-agent/internal/node"
	"github.com/hcp-node-agent/hcp-node-agent/internal/node/servicelog"
	"github.com/hcp-node-agent/hcp-node-agent/internal/nodecheck"
	"github.com/hcp-node-agent/hcp-node-agent/internal/plan"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/steps"
)

const journalSection = "journal"

func inspectJournal(ctx context.Context, d *diagnostics) ([]report.Finding, error) {
	ofKubelet, errKubelet := servicelog.LastError(ctx, kubelet.UnitName)
	ofCRIO, errCRIO := servicelog.LastError(ctx, crio.Unit)
	if err := errors.Join(errKubelet, errCRIO); err != nil {
		return nil, err
	}
	return journalFindings(ofKubelet, ofCRIO, d.now), nil
}

// journalFindings reports the most recent errors of kubelet and CRI-O, nil if there is none. They are notes only,
// because healthy units log errors too, especially at startup.
func journalFindings(ofKubelet, ofCRIO *servicelog.Error, now time.Time) []report.Finding {
	var findings []report.Finding
	var quiet []string
	for _, unit := range []struct {
		name, unit string
		last       *servicelog.Error
	}{{"kubelet", "kubelet", ofKubelet}, {"CRI-O", "crio", ofCRIO}} {
		if unit.last == nil {
			quiet = append(quiet, unit.name)
			continue
		}
		findings = append(findings, note(report.Remedyf("journalctl -b -u %s", unit.unit),
			"the last error of %s occurred %s ago: %s", unit.name, report.FormatAge(now.Sub(unit.last.Time)), unit.last.Text))
	}
	if len(quiet) > 0 {
		findings = append(findings,
			passed("no error since the boot in the last log lines of %s", strings.Join(quiet, " and ")))
	}
	return findings
}

// inspectNode gets the status of the Node from the cluster once the host has a
// credential.
func inspectNode(ctx context.Context, d *diagnostics) ([]report.Finding, error) {
	own, err := d.ownNode()
	if own == nil {
		return nil, err
	}
	found, err := own.Findings(ctx)
	if err != nil {
		return nil, err
	}
	var reported time.Time
	if len(found) == 0 {
		reported = own.Conn.LastRenewal(ctx, own.Name)
	}
	return evaluateNode(own.Name, found, reported, time.Now()), nil
}

// inspectKonnectivity connects to the konnectivity server, whose address only a pod of the node contains.
func inspectKonnectivity(ctx context.Context, d *diagnostics) ([]report.Finding, error) {
	own, err := d.ownNode()
	if own == nil {
		return nil, err
	}
	address, found, err := own.CheckKonnectivity(ctx)
	if err != nil {
		return nil, nil //nolint:nilerr // the section node reports an API server that does not respond
	}
	if address != "" && len(found) == 0 {
		found = []report.Finding{passed("the konnectivity server %s is reachable", address)}
	}
	return found, nil
}

// evaluateNode returns the findings about the Node, or that there are none, with the age of kubelet's last report if it
// is known.
func evaluateNode(name string, found []report.Finding, reported, now time.Time) []report.Finding {
	if len(found) > 0 {
		return found
	}
	text := fmt.Sprintf("Node %s is Ready and schedulable", name)
	if !reported.IsZero() {
		text += fmt.Sprintf("; kubelet's last report was %s ago", duration.HumanDuration(max(0, now.Sub(reported))))
	}
	return []report.Finding{passed("%s", text)}
}

// inspectServing returns findings if a running kubelet has no serving certificate,
// or one for a previous address.
func inspectServing(ctx context.Context, d *diagnostics) ([]report.Finding, error) {
	own, err := d.ownNode()
	if own == nil || !d.run.State.HasCompleted(steps.Kubelet) {
		return nil, err
	}
	serving, err := plan.ServingCertificate(own, d.run.State.Topology())
	if err != nil {
		return nil, err
	}
	return serving.Findings(ctx), nil
}

// ownNode returns a client for this host's Node. It returns nil if the host has no
// credential for the Node, which the sections join and certificates report.
func (d *diagnostics) ownNode() (*node.Node, error) {
	_, err := os.Stat(identity.KubeconfigPath)
	if err != nil || d.run.State.NodeName == "" {
		return nil, nil //nolint:nilnil,nilerr // see above
	}
	return nodecheck.OpenNode(identity.KubeconfigPath, d.run.State, d.host.Facts.BootID, d.host.Units, report.Log{})
}
