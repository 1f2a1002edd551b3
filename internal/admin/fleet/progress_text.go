// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/hcp-node-agent/hcp-node-agent/internal/admin/rollout"
	"github.com/hcp-node-agent/hcp-node-agent/internal/api/v1alpha1"
	"github.com/hcp-node-agent/hcp-node-agent/internal/lists"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// maxListed limits the nodes that are listed, so that the state fits on one screen.
const maxListed = 5

// Print prints the state of an upgrade.
func (p *Progress) Print(w *report.Page, now time.Time) {
	line := func(label, format string, args ...any) {
		w.Item(fmt.Sprintf("%-9s", label+":"), report.EscapeLine(fmt.Sprintf(format, args...)))
	}
	if p.Rollout == nil {
		w.Item("", "NodePool "+p.NodePool+" has no NodeRollout: its nodes are upgraded by hand")
		if p.Published.Config != "" {
			line("wanted", "release %s, configuration %s", p.Published.Release, p.Published.Config)
		}
		p.printReleases(line)
		return
	}
	spec, status := p.Rollout.Spec, p.Rollout.Status
	p.printPause(w)
	switch {
	case status.Config != "":
		w.Item("", fmt.Sprintf("NodePool %s: release %s, configuration %s", p.NodePool, status.Release, status.Config))
	case p.isReported():
		w.Item("", "NodePool "+p.NodePool+": no current configuration is known")
	default:
		w.Item("", "the controller has not reported about NodePool "+p.NodePool+" yet")
	}
	if p.isReported() {
		inProgress := int32(len(status.Slots)) //nolint:gosec // the number of nodes of a cluster
		line("nodes", "%d: %d updated, %d in progress, %d waiting, %d failed; %d unavailable", status.Nodes,
			status.Updated, inProgress, max(0, status.Nodes-status.Updated-inProgress-status.Failed), status.Failed,
			status.Unavailable)
	}
	p.printReleases(line)
	p.printPace(line, now)
	p.printWindow(line, now)
	if spec.Canary != nil {
		line("canary", "%s", p.canary())
	}
	limit := cmp.Or(p.Published.MaxUnavailable, "1")
	if spec.MaxUnavailable != nil {
		limit = spec.MaxUnavailable.String()
	}
	limits := fmt.Sprintf("max-unavailable %s, max-failures %d", limit, spec.MaxFailures)
	if spec.SlotTimeout != nil {
		limits += ", slot-timeout " + formatDuration(spec.SlotTimeout.Duration)
	}
	if spec.AllowMajor {
		limits += ", allow-major"
	}
	line("limits", "%s", limits)
	if status.Waiting != "" {
		line("waiting", "%s", status.Waiting)
	}
	p.printNodes(w, now)
}

// isReported reports whether the controller has written the status of the NodeRollout.
func (p *Progress) isReported() bool {
	return p.Rollout.Status.Config != "" || p.Rollout.Status.Waiting != ""
}

// Next returns how the state of an upgrade is changed, "" if nothing has to be done.
func (p *Progress) Next() report.Remedy {
	switch {
	case p.Rollout == nil:
		return report.Remedyf("# lets the controller drain and upgrade its nodes, one after the other:\n"+
			"hcp-node-admin upgrade %s --start", p.NodePool)
	case !p.isReported():
		return report.Remedyf("hcp-node-admin upgrade %s # again, when the controller has reported", p.NodePool)
	}
	if failures := p.Rollout.Status.CurrentFailures(); len(failures) > 0 {
		return report.Remedyf("# when the cause is removed:\nhcp-node-admin upgrade %s --retry %s", p.NodePool,
			report.ShellWord(failures[0].Node))
	}
	return ""
}

// printPause prints whether and by whom the rollout is paused.
func (p *Progress) printPause(w *report.Page) {
	var by string
	manager, at := p.pausedBy()
	switch {
	case !p.Rollout.Spec.Paused && p.Published.Paused == "":
		return
	case !p.Rollout.Spec.Paused:
		by = "by the NodePool: " + p.Published.Paused
	case p.ByYou:
		by = "by you: no upgrade begins before --resume"
	case manager != "":
		by = fmt.Sprintf("with %s at %s: no upgrade begins before --resume", manager, report.Timestamp(at))
	default:
		by = "by the NodeRollout: no upgrade begins before --resume"
	}
	switch slots := len(p.Rollout.Status.Slots); slots {
	case 0:
	case 1:
		by += "; 1 upgrade in progress is completed"
	default:
		by += fmt.Sprintf("; %d upgrades in progress are completed", slots)
	}
	w.Item("", "paused "+report.EscapeLine(by))
}

// printReleases prints which configurations the nodes have now, the most frequent first.
func (p *Progress) printReleases(line func(label, format string, args ...any)) {
	counts := map[string]int{}
	for _, node := range p.Nodes {
		counts[fmt.Sprintf("release %s, configuration %s", node.Status.Release, node.Status.ConfigHash)]++
	}
	all := slices.SortedFunc(maps.Keys(counts), func(a, b string) int {
		return cmp.Or(counts[b]-counts[a], strings.Compare(a, b))
	})
	if len(all) > 0 {
		line("now", "%s", report.AbbreviateList(lists.Map(all, func(one string) string {
			return fmt.Sprintf("%d with %s", counts[one], one)
		})))
	}
}

// printPace prints how fast nodes were upgraded, and the expected end while nothing delays it.
func (p *Progress) printPace(line func(label, format string, args ...any), now time.Time) {
	status := p.Rollout.Status
	count, perHour := p.pace(status.Config)
	if perHour == 0 {
		return
	}
	text := fmt.Sprintf("%.1f nodes per hour in the last %d upgrades", perHour, count)
	left := status.Nodes - status.Updated - status.Failed
	end := now.Add(time.Duration(float64(left) / perHour * float64(time.Hour)))
	window, err := rollout.WindowOf(p.Rollout.Spec)
	isOpen := err == nil && window.IsOpen(now) && (window == nil || !end.After(window.NextChange(now)))
	if left > 0 && len(status.Slots) > 0 && isOpen && !p.Rollout.Spec.Paused && p.Published.Paused == "" {
		text += fmt.Sprintf("; expected end %s (in %s)", report.Timestamp(end), duration.HumanDuration(end.Sub(now)))
	}
	line("pace", "%s", text)
}

// printWindow prints whether the window is open, and when this changes, in the zone of its schedule.
func (p *Progress) printWindow(line func(label, format string, args ...any), now time.Time) {
	window, err := rollout.WindowOf(p.Rollout.Spec)
	if window == nil && err == nil {
		return
	}
	spec := p.Rollout.Spec.Window
	schedule := fmt.Sprintf("%s, %s, for %s", spec.Schedule, cmp.Or(spec.TimeZone, "UTC"),
		formatDuration(spec.Duration.Duration))
	if err != nil {
		line("window", "%s: %s", schedule, err)
		return
	}
	location, _ := time.LoadLocation(spec.TimeZone) // NewWindow has read it
	state, at := "closed, opens", window.NextChange(now.In(location)).Format(time.RFC3339)
	if window.IsOpen(now) {
		state = "open until"
	}
	line("window", "%s %s (%s)", state, at, schedule)
}

// canary returns the nodes that are upgraded first, and how many of them are updated.
func (p *Progress) canary() string {
	selector, err := metav1.LabelSelectorAsSelector(p.Rollout.Spec.Canary)
	if err != nil {
		return err.Error()
	}
	all, updated := 0, 0
	for _, node := range p.Nodes {
		if selector.Matches(labels.Set(node.Spec.Labels)) {
			if all++; node.Status.ConfigHash == p.Rollout.Status.Config {
				updated++
			}
		}
	}
	return fmt.Sprintf("%s first; %d of %d updated", selector, updated, all)
}

// printNodes prints the nodes that are being upgraded, and those whose upgrade to the present configuration failed.
func (p *Progress) printNodes(w *report.Page, now time.Time) {
	print := func(all []string) {
		for _, one := range all[:min(len(all), maxListed)] {
			w.Item("", report.EscapeLine(one))
		}
		if others := len(all) - maxListed; others > 0 {
			w.Item("", fmt.Sprintf("and %d more", others))
		}
	}
	print(lists.Map(p.Rollout.Status.Slots, func(slot v1alpha1.UpgradeSlot) string {
		since := slot.Given.Time
		return strings.TrimSuffix(fmt.Sprintf("%s in progress since %s (%s): %s", slot.Node, report.Timestamp(since),
			duration.HumanDuration(now.Sub(since)), p.Steps[slot.Node]), ": ")
	}))
	print(lists.Map(p.Rollout.Status.CurrentFailures(), func(failure v1alpha1.UpgradeFailure) string {
		return fmt.Sprintf("%s failed: %s", failure.Node, failure.Reason)
	}))
}

// formatDuration returns a duration without units at its end that are zero, such as 4h or 1h30m.
func formatDuration(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}
