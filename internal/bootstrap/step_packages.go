// SPDX-License-Identifier: Apache-2.0

package bootstrap

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/hcp-node-agent/hcp-node-agent/internal/machine"
	"github.com/hcp-node-agent/hcp-node-agent/internal/plan"
	"github.com/hcp-node-agent/hcp-node-agent/internal/preflight"
	"github.com/hcp-node-agent/hcp-node-agent/internal/provision"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/software"
	"github.com/hcp-node-agent/hcp-node-agent/internal/steps"
)

// ensurePackages unpacks packages from the OS image, and installs missing ones with dnf if requested. On a
// host without rpm and dnf, or that is not RHEL-like, dnf installs nothing: other checks cover the binaries.
func ensurePackages(ctx context.Context, j *Flow, log report.Log) (steps.Outcome, error) {
	if j.Session.RunsPayloadImage() {
		return ensureImage(ctx, j.HostImage(), log)
	}
	packages := j.Packages()
	repaired, err := packages.RepairInterrupted(ctx, log)
	if err != nil {
		return steps.Outcome{}, err
	}
	decision, err := j.Software.Decision(ctx, j.Plan, j.Validation)
	if err != nil {
		return steps.Outcome{}, err
	}
	logPackageFindings(decision, log)
	unpacked, err := packages.Unpack(ctx, log, decision.Unpack)
	if err != nil {
		return steps.Outcome{}, err
	}
	specs := decision.Specs()
	if len(specs) > 0 {
		if err := packages.KeepVersions(decision.With(software.ToReplace)); err != nil {
			return steps.Outcome{}, err
		}
		if err := packages.Install(ctx, log, specs); err != nil {
			return steps.Outcome{}, err
		}
	}
	specs = append(specs, repaired...)
	if unpacked != "" || len(specs) > 0 {
		if decision, err = j.afterInstall(ctx, log, len(specs) > 0); err != nil {
			return steps.Outcome{}, err
		}
	}
	if decision.Managed {
		if err := j.checkUplink(ctx); err != nil {
			return steps.Outcome{}, err
		}
	}
	return summarizePackages(unpacked, specs, decision), nil
}

// ensureImage boots the image of the plan, as the step packages of a host whose image contains the packages.
func ensureImage(ctx context.Context, image provision.HostImage, log report.Log) (steps.Outcome, error) {
	if image.Plan.Image != nil {
		return steps.Outcome{}, image.Boot(ctx, log)
	}
	if _, err := image.Stage(ctx, log); err != nil {
		return steps.Outcome{}, err
	}
	return steps.Unchanged("the image of this host is that of the payload")
}

// summarizePackages returns the outcome of the step: the packages that were unpacked from the OS image,
// "" for none, and those that dnf installed.
func summarizePackages(unpacked string, specs []string, decision software.Decision) steps.Outcome {
	var summary []string
	if unpacked != "" {
		summary = append(summary, fmt.Sprintf("unpacked %s from the OS image", unpacked))
	}
	if len(specs) > 0 {
		summary = append(summary, "dnf installed "+strings.Join(specs, " "))
	}
	isChanged := len(summary) > 0
	if all := len(decision.Packages); decision.Managed {
		summary = append(summary, fmt.Sprintf("%d of %d packages of %s are installed",
			all-len(decision.Missing()), all, nodeOfRelease(decision.Release)))
	} else if !isChanged {
		binaries := len(preflight.RequiredPrograms())
		summary = append(summary, fmt.Sprintf("%d of %d node binaries are installed", binaries, binaries))
	}
	return steps.Outcome{Summary: strings.Join(summary, "; "), Changed: isChanged}
}

// afterInstall verifies the new software, and reloads systemd and NetworkManager so that running services
// notice it. Then it plans the join again.
func (j *Flow) afterInstall(ctx context.Context, log report.Log, byDNF bool) (software.Decision, error) {
	decision, err := j.Software.DecideAgain(ctx, j.Plan, j.Validation)
	if err != nil {
		return decision, err
	}
	if j.Host.Systemd != nil {
		if err := j.Host.Systemd.Reload(ctx); err != nil {
			return decision, err
		}
	}
	if byDNF {
		if err := loadOVSPlugin(ctx, j.Host, j.Uplink, log); err != nil {
			return decision, err
		}
	}
	if err := j.rebuildPlan(ctx, log); err != nil {
		return decision, err
	}
	missing, err := j.Software.MissingBinaries(j.Plan)
	if err != nil {
		return decision, err
	}
	return decision, preflight.Run(preflight.SoftwareChecks(), preflight.PayloadFacts{
		Host:            j.Host.Facts,
		MissingUnits:    j.Plan.MissingUnits,
		MissingPrograms: missing,
	}).Err()
}

// checkUplink fails if the uplink cannot be attached to br-ex. The plan step does not plan the
// migration if Open vSwitch is missing, because this step may install it.
func (j *Flow) checkUplink(ctx context.Context) error {
	if j.Plan.Migration != nil || slices.Contains(j.Run.Config.Skip, steps.Network) {
		return nil
	}
	_, err := j.Uplink.Check(ctx, false)
	return err
}

// loadOVSPlugin restarts NetworkManager if its Open vSwitch plugin is not loaded.
// NetworkManager loads plugins only at startup. Addresses are kept during the
// restart.
func loadOVSPlugin(ctx context.Context, host *machine.Machine, uplink *plan.Uplink, log report.Log) error {
	if host.NM == nil || host.Systemd == nil {
		return nil
	}
	info, err := host.NM.Info(ctx)
	if err == nil && !info.OVS {
		err = restartNetworkManager(ctx, host.Systemd, log)
	}
	if err != nil {
		return err
	}
	_, err = uplink.Refresh(ctx) // the packages can include Open vSwitch and the plugin
	return err
}

func logPackageFindings(decision software.Decision, log report.Log) {
	for _, f := range decision.Findings {
		switch f.Severity {
		case report.SeverityWarning:
			log.Warn(f.Message, f.Remedy)
		case report.SeverityNote:
			log.Note(f.Message)
		}
	}
}

func nodeOfRelease(release software.Release) string {
	if release.IsZero() {
		return "a node"
	}
	return fmt.Sprintf("a node of OpenShift %s", release)
}
