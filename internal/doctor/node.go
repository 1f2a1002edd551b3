// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/crio"
	"github.com/hcp-node-agent/hcp-node-agent/internal/identity"
	"github.com/hcp-node-agent/hcp-node-agent/internal/kubelet"
	"github.com/hcp-node-agent/hcp-node-agent/internal/node"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/servicelog"
)

// journalFacts contains the most recent errors of kubelet and CRI-O.
type journalFacts struct {
	Kubelet, CRIO *servicelog.Error // nil if there is none
	Now           time.Time
}

func inspectJournal(ctx context.Context, d *diagnostics) ([]report.Finding, error) {
	if !d.hasStarted() || !d.Facts.Root {
		return nil, nil
	}
	facts := journalFacts{Now: d.now}
	var errs [2]error
	facts.Kubelet, errs[0] = servicelog.LastError(ctx, kubelet.UnitName)
	facts.CRIO, errs[1] = servicelog.LastError(ctx, crio.Unit)
	if err := errors.Join(errs[:]...); err != nil {
		return nil, err
	}
	return facts.evaluate(), nil
}

// evaluate reports errors as notes only, because healthy units log errors too,
// especially at startup.
func (f journalFacts) evaluate() []report.Finding {
	var findings []report.Finding
	var quiet []string
	for _, unit := range []struct {
		name, unit string
		last       *servicelog.Error
	}{{"kubelet", "kubelet", f.Kubelet}, {"CRI-O", "crio", f.CRIO}} {
		if unit.last == nil {
			quiet = append(quiet, unit.name)
			continue
		}
		findings = append(findings, report.Finding{
			Severity: report.SeverityNote, Message: fmt.Sprintf(
				"the last error of %s occurred %s ago: %s",
				unit.name,
				report.FormatAge(f.Now.Sub(unit.last.Time)),
				unit.last.Text,
			),
			Remedy: report.Remedy("journalctl -b -u " + unit.unit),
		})
	}
	if len(quiet) > 0 {
		findings = append(findings, report.Finding{Severity: report.SeverityOK, Message: "no error since the boot " +
			"in the last log lines of " + strings.Join(quiet, " and ")})
	}
	return findings
}

// inspectNode gets the status of the Node from the cluster once the host has a
// credential.
func inspectNode(ctx context.Context, d *diagnostics) ([]report.Finding, error) {
	if !d.hasStarted() || d.State.NodeName == "" || !d.Facts.Root {
		return nil, nil
	}
	if _, err := os.Stat(identity.KubeconfigPath); err != nil {
		return nil, nil //nolint:nilerr // reported by the section for the join and the certificates
	}
	node, err := d.ownNode()
	if err != nil {
		return nil, err
	}
	return nodeFindings(ctx, node)
}

// nodeFindings returns the problems of a Node, the most direct cause first.
func nodeFindings(ctx context.Context, node *node.Node) ([]report.Finding, error) {
	found, err := node.Findings(ctx)
	if err != nil {
		return nil, err
	}
	return evaluateNode(node.Name, found), nil
}

func evaluateNode(name string, found []report.Finding) []report.Finding {
	if len(found) == 0 {
		return []report.Finding{{Severity: report.SeverityOK, Message: "Node " + name + " is Ready and schedulable"}}
	}
	return found
}

// ownNode returns a client for this host's Node. It fails if the host has no
// credential for it.
func (d *diagnostics) ownNode() (*node.Node, error) {
	if d.State.NodeName == "" {
		return nil, errors.New("the node has no name yet")
	}
	if _, err := os.Stat(identity.KubeconfigPath); err != nil {
		return nil, fmt.Errorf("the node has no credential: %w", err)
	}
	own, err := node.OpenNode(identity.KubeconfigPath, d.State.NodeName, nil, report.Log{})
	if err != nil {
		return nil, err
	}
	own.BootID, own.Registered, own.RequestedTaints = d.Facts.BootID, d.State.Registered, d.State.Config.Taints
	own.Host = node.JoinedHost(d.Systemd, crio.NetworkDirectory)
	return own, nil
}
