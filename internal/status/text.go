// SPDX-License-Identifier: Apache-2.0

package status

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/deployment"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/systemd"
	"github.com/hcp-node-agent/hcp-node-agent/internal/joinstate"
	"github.com/hcp-node-agent/hcp-node-agent/internal/kubelet"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ovs/bootunits"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// Print prints the status as text. The ages in it are relative to now.
func (d Document) Print(page *report.Page, now time.Time) {
	page.Item("", page.Title(d.title()))
	row := func(label, text string) {
		page.Item(fmt.Sprintf("  %-15s ", label), text)
	}
	if join := d.Join; join != nil {
		join.print(row, now)
	}
	if d.Software != nil {
		row("release", d.Software.String())
	}
	if images := d.Deployments; images != nil {
		printImages(page, row, *images)
	}
	for _, one := range d.FailedImages {
		row("failed image", page.Warn(fmt.Sprintf("%s, rolled back at %s: %s", one.Digest, report.Timestamp(one.Time),
			report.EscapeLine(one.Reason))))
	}
	if s := d.Staged; s != nil {
		row("staged", fmt.Sprintf("%s, %s, since %s (%s ago)", cmp.Or(s.Release, "an unknown release"),
			formatSize(s.Size), report.Timestamp(s.Since), report.FormatAge(now.Sub(s.Since))))
	}
	for _, one := range d.Unused {
		row("unused software", fmt.Sprintf("%s (%s)", one.Directory, formatSize(one.Size)))
	}
	for _, unit := range statusUnits() {
		if s, known := d.Units[unit.name]; known && unit.label != "" {
			text := describeUnit(s)
			if node := d.Node; node != nil && node.Kubelet != "" && unit.name == kubelet.UnitName {
				text += ", " + node.Kubelet
			}
			row(unit.label, text)
		}
	}
	if unit := bootunits.NodeIPUnit; d.Units[unit].Active == "failed" {
		row("node address", page.Warn("the address of an earlier boot is used, because "+unit+" failed"))
		page.Remedy(report.Remedy("journalctl -b -u " + unit))
	}
	if bridge := d.Bridge; bridge != nil {
		row("network", bridge.String())
		for _, line := range bridge.Details() {
			row("", line)
		}
	}
	label := "certificates"
	for _, one := range d.Certificates {
		row(label, fmt.Sprintf("%s valid until %s", one.Name, report.Timestamp(one.Expires)))
		label = ""
	}
	for _, finding := range d.Findings {
		row(finding.Check, page.Bad(finding.Message))
		page.Remedy(finding.Remedy)
	}
	d.printDrift(page, row)
	for _, one := range d.Maintained {
		row("kept", report.EscapeLine(one)+": written by the cluster since the join")
	}
	for _, text := range d.Errors {
		row("not read", page.Warn(text))
	}
}

// printImages prints the image that runs, the one that boots next if it is another one, and the one to which the host
// can be rolled back.
func printImages(page *report.Page, row func(label, text string), images deployment.Status) {
	booted := images.Booted.String()
	if images.Booted.Modified {
		booted += page.Warn(", with layered packages")
	}
	row("image", booted)
	if next := images.Next(); next != nil {
		row("next boot", page.Warn(next.Describe(images.Booted)))
	}
	if images.Rollback != nil && !images.RollbackQueued {
		row("previous image", images.Rollback.Describe(images.Booted))
	}
}

// title returns the state of the host in one line.
func (d Document) title() string {
	name := "this host"
	if d.Join != nil {
		name = cmp.Or(d.Join.NodeName, name)
	}
	if text, _ := d.unfinishedRun(); text != "" {
		return name + ": " + text
	}
	switch {
	case d.Phase != joinstate.PhaseJoined:
		return name + " has not joined a cluster with hcp-node-agent"
	case slices.ContainsFunc(d.Findings, func(f report.Finding) bool { return f.Reason == report.NodeDeleted }):
		return name + ": joined; the Node was deleted from the cluster"
	case d.Node == nil:
		return name + ": joined; the state of the Node is unknown"
	}
	return name + ": " + d.Node.String()
}

func (j Join) print(row func(label, text string), now time.Time) {
	if j.NodePool != "" {
		row("NodePool", j.NodePool)
	}
	if j.APIServer != "" {
		row("API server", j.APIServer)
	}
	since := func(t time.Time) string {
		return fmt.Sprintf("%s (%s ago)", report.Timestamp(t), report.FormatAge(now.Sub(t)))
	}
	switch {
	case !j.Leaving.IsZero():
		row("leaving since", since(j.Leaving))
		return
	case !j.Upgrading.IsZero():
		row("upgrading since", since(j.Upgrading))
	case !j.Maintaining.IsZero():
		row("maintenance since", since(j.Maintaining))
	case j.Finished.IsZero():
		row("joining since", since(j.Started))
	default:
		row("joined", since(j.Finished))
		return
	}
	row("last step", cmp.Or(j.LastStep, "none"))
}

func formatSize(bytes int64) string { return fmt.Sprintf("%d MB", bytes/1e6) }

// printDrift prints how the host differs from the state that the join created.
func (d Document) printDrift(page *report.Page, row func(label, text string)) {
	switch {
	case d.Changes == 0:
		return
	case len(d.Drift) == 0:
		row("changes", fmt.Sprintf("%d by the join, no drift", d.Changes))
		return
	}
	row("drift", page.Bad(fmt.Sprintf("%d of %d changes of the join differ", len(d.Drift), d.Changes)))
	for _, one := range d.Drift {
		page.Item("    "+page.Warn(driftSign(one))+"  ", fmt.Sprintf("%s %s", one.Kind, report.EscapeLine(one.Target)))
		page.Item("         expected: ", one.Desired.String())
		page.Item("         current:  ", one.Now.String())
	}
}

// driftSign returns - for a removed object, + for one that exists again, and ~ for a changed one.
func driftSign(one ledger.PublishedDifference) string {
	switch {
	case !one.Now.Present:
		return "-"
	case !one.Desired.Present:
		return "+"
	}
	return "~"
}

func describeUnit(s systemd.UnitState) string {
	switch {
	case s.Load == "not-found":
		return "not installed"
	case s.File == "":
		return s.Active
	}
	return s.Active + ", " + s.File
}
