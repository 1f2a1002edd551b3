// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"context"
	"strings"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/dnf"
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
	if f.work.pending, err = software.PendingUpdates(ctx, f.machine.Systemd); err != nil || f.options.NoUpdate {
		return err
	}
	if f.updater == nil {
		return report.Fail(report.Refused, "hcp-node-agent maintenance --no-update --reboot # reboots the host without an update",
			"this host has no dnf, so that its packages cannot be updated")
	}
	f.work.updates, err = f.updater.List(ctx, log)
	return err
}

// isNothing reports whether a maintenance would change nothing.
func (w work) isNothing() bool { return len(w.updates) == 0 && len(w.pending) == 0 && !w.reboot }

// notes returns a message about the updates, and one for each pending update.
func (w work) notes() []string {
	var notes, names []string
	for _, p := range w.updates {
		names = append(names, p.String())
	}
	if len(names) > 0 {
		notes = append(notes, describe(len(names), "package")+" to install: "+strings.Join(names, ", "))
	}
	for _, finding := range w.pending {
		notes = append(notes, finding.Message)
	}
	return notes
}

// summary describes the work in one line.
func (w work) summary() string {
	var parts []string
	if n := len(w.updates); n > 0 {
		parts = append(parts, describe(n, "package")+" to install")
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

// rebootFacts is the input of decide.
type rebootFacts struct {
	pending      []report.Finding // updates that are not running
	requested    bool             // by the administrator
	boot         string           // ID of the current boot
	rebootedFrom string           // ID of the boot in which this maintenance has requested a reboot; "" if it has not
}

// decide returns the action.
func (f rebootFacts) decide() rebootAction {
	switch {
	case f.rebootedFrom != "" && f.rebootedFrom != f.boot:
		return isRebooted
	case f.requested || len(f.pending) > 0:
		return rebootNow
	}
	return noReboot
}

// reason returns why the host is rebooted, as the end of a sentence.
func (f rebootFacts) reason() string {
	if len(f.pending) == 0 {
		return "as requested"
	}
	var names []string
	for _, finding := range f.pending {
		names = append(names, finding.Subject)
	}
	return "to run the installed update of " + strings.Join(names, ", ")
}
