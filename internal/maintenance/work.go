// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/dnf"
	"github.com/hcp-node-agent/hcp-node-agent/internal/joinstate"
	"github.com/hcp-node-agent/hcp-node-agent/internal/lists"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/software"
)

// work describes the tasks of a maintenance.
type work struct {
	updates []dnf.Package    // to install
	pending []report.Finding // updates that are installed but not running
	reboot  bool             // requested by the administrator
}

// gatherWork determines the work of a new maintenance.
func (f *flow) gatherWork(ctx context.Context, log report.Log) error {
	f.work.reboot = f.options.Reboot
	var err error
	if f.work.pending, err = software.PendingUpdates(ctx, f.machine.Systemd.Reader()); err != nil || f.options.NoUpdate {
		return err
	}
	if f.machine.Facts.Capabilities().HasImage {
		log.Note("this host is in image mode: bootc upgrade stages the next image, into which maintenance reboots the host")
		return nil
	}
	if f.updater == nil {
		return report.Fail(report.Refused,
			"hcp-node-agent maintenance --no-update --reboot # reboots the host without an update",
			"this host has no dnf, so that its packages cannot be updated")
	}
	f.work.updates, err = f.updater.List(ctx, log)
	return err
}

// isNothing reports whether a maintenance would change nothing.
func (w work) isNothing() bool { return len(w.updates) == 0 && len(w.pending) == 0 && !w.reboot }

// notes returns a message about the updates, and one for each pending update.
func (w work) notes() []string {
	notes := lists.Map(w.pending, func(finding report.Finding) string { return finding.Message })
	if len(w.updates) > 0 {
		names := strings.Join(lists.Map(w.updates, dnf.Package.String), ", ")
		notes = slices.Insert(notes, 0, w.countUpdates()+": "+names)
	}
	return notes
}

func (w work) countUpdates() string {
	if len(w.updates) == 1 {
		return "1 package to install"
	}
	return fmt.Sprintf("%d packages to install", len(w.updates))
}

// summary describes the work in one line.
func (w work) summary() string {
	var parts []string
	if len(w.updates) > 0 {
		parts = append(parts, w.countUpdates())
	}
	switch {
	case len(w.pending) > 0:
		parts = append(parts, "a reboot is pending")
	case w.reboot:
		parts = append(parts, "a reboot is requested")
	}
	return strings.Join(parts, "; ")
}

// rebootAction describes an action of the step reboot.
type rebootAction string

const (
	noReboot   rebootAction = "none"     // nothing requires it
	rebootNow  rebootAction = "reboot"   // also if an earlier run was interrupted before the reboot
	isRebooted rebootAction = "rebooted" // never twice: the reboot may not have started the update
)

// decideReboot returns the action and, if the host is rebooted, the reason as the end of a sentence. pending are the
// updates that are not running in the boot.
func decideReboot(
	record joinstate.Maintenance, pending []report.Finding, boot string,
) (action rebootAction, reason string) {
	switch {
	case record.RebootedFrom != "" && record.RebootedFrom != boot:
		return isRebooted, ""
	case len(pending) > 0:
		names := lists.Map(pending, func(finding report.Finding) string { return finding.Subject })
		return rebootNow, "to run the installed update of " + strings.Join(names, ", ")
	case record.Reboot:
		return rebootNow, "as requested"
	}
	return noReboot, ""
}
