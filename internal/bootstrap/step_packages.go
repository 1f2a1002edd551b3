// SPDX-License-Identifier: Apache-2.0

package bootstrap

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/hcp-node-agent/hcp-node-agent/internal/packages"
	"github.com/hcp-node-agent/hcp-node-agent/internal/preflight"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/steps"
)

// ensurePackages checks the packages of a node and installs the missing ones if
// requested. On a host without rpm and dnf, or that is not RHEL-like, it does
// nothing, because the checks before it cover the required binaries.
func ensurePackages(ctx context.Context, j *Flow, log report.Log) (steps.Outcome, error) {
	unpacked, err := j.unpackSoftware(ctx, log)
	if err != nil {
		return steps.Outcome{}, err
	}
	if !j.ManagesPackages() {
		all := preflight.RequiredPrograms()
		if unpacked != "" {
			return steps.Changed("unpacked %s from the OS image", unpacked)
		}
		return steps.Unchanged("%d of %d node binaries are installed", len(all), len(all))
	}
	decision, err := j.DecideInstallation(ctx)
	if err != nil {
		return steps.Outcome{}, err
	}
	logPackageFindings(decision, log)
	specs := j.SpecsToInstall(decision)
	if len(specs) == 0 {
		if err := j.checkUplink(ctx); err != nil {
			return steps.Outcome{}, err
		}
		// The decision was made before the packages were unpacked.
		decision.Present += len(decision.FromImage())
		return summarizePackages(unpacked, nil, decision), nil
	}
	if err := j.KeepVersions(decision.Replaced()); err != nil {
		return steps.Outcome{}, err
	}
	if err := j.InstallPackages(ctx, log, specs); err != nil {
		return steps.Outcome{}, err
	}
	if decision, err = j.afterInstall(ctx, log); err != nil {
		return steps.Outcome{}, err
	}
	return summarizePackages(unpacked, specs, decision), nil
}

// summarizePackages returns the outcome of the step: the packages that were unpacked from the OS image,
// "" for none, and those that dnf installed.
func summarizePackages(unpacked string, specs []string, decision packages.Decision) steps.Outcome {
	var summary []string
	if unpacked != "" {
		summary = append(summary, fmt.Sprintf("unpacked %s from the OS image", unpacked))
	}
	if len(specs) > 0 {
		summary = append(summary, "dnf installed "+strings.Join(specs, " "))
	}
	isChanged := len(summary) > 0
	summary = append(summary, fmt.Sprintf("%d of %d packages of %s are installed", decision.Present, decision.Needed, nodeOfRelease(decision.Release)))
	return steps.Outcome{Summary: strings.Join(summary, "; "), Changed: isChanged}
}

// SpecsToInstall returns the package specs that dnf installs: the missing packages if requested, and
// those of which an upgrade replaces the version.
func (j *Flow) SpecsToInstall(decision packages.Decision) []string {
	if !j.Config.InstallPackages {
		decision.Missing = decision.Replaced()
	}
	return decision.Specs()
}

// DecideInstallation returns which packages the host lacks, as the validate step has determined
// it unless it was skipped. It fails if the host cannot be a node with them.
func (j *Flow) DecideInstallation(ctx context.Context) (packages.Decision, error) {
	if known := j.Validation.Packages; known != nil {
		return *known, known.Err()
	}
	decision, err := j.DecidePackages(ctx, j.Plan, j.Validation.ServerVersion)
	return decision, cmp.Or(err, decision.Err())
}

// InstallPackages installs packages with dnf and records the transaction in the
// ledger.
func (j *Flow) InstallPackages(ctx context.Context, log report.Log, specs []string) error {
	on := j.DNF()
	change, err := (&packages.Transactions{Host: on}).Change(ctx, specs)
	if err != nil {
		return err
	}
	done, err := j.Ledger.TrackExternal(ctx, steps.Packages, change)
	if err != nil {
		return err
	}
	if err := packages.Install(ctx, on, log, specs...); err != nil { // an upgrade has downloaded them before
		if ctx.Err() == nil {
			err = errors.Join(err, done())
		}
		return err
	}
	return done()
}

// afterInstall verifies the installed packages, and reloads systemd and NetworkManager so
// that running services notice them. Then it plans the join again.
func (j *Flow) afterInstall(ctx context.Context, log report.Log) (packages.Decision, error) {
	decision, err := j.DecidePackages(ctx, j.Plan, j.Validation.ServerVersion)
	if err = cmp.Or(err, decision.Err()); err != nil {
		return decision, err
	}
	if j.Systemd != nil {
		if err := j.Systemd.Reload(ctx); err != nil {
			return decision, err
		}
	}
	if err := j.loadOVSPlugin(ctx, log); err != nil {
		return decision, err
	}
	if err := j.rebuildPlan(ctx, log); err != nil {
		return decision, err
	}
	missing, err := j.MissingBinaries(j.Plan)
	if err != nil {
		return decision, err
	}
	err = preflight.Run(preflight.SoftwareChecks(), preflight.PayloadFacts{
		Host: j.Facts, MissingUnits: j.Plan.MissingUnits, MissingPrograms: missing,
	}).Err()
	return decision, cmp.Or(err, j.checkUplink(ctx))
}

// checkUplink fails if the uplink cannot be attached to br-ex. The plan step does not plan the
// migration if Open vSwitch is missing, because this step may install it.
func (j *Flow) checkUplink(ctx context.Context) error {
	if j.Plan.Migration != nil || slices.Contains(j.Config.Skip, steps.Network) {
		return nil
	}
	return j.CheckUplink(ctx)
}

// loadOVSPlugin restarts NetworkManager if its Open vSwitch plugin is not loaded.
// NetworkManager loads plugins only at startup. Addresses are kept during the
// restart.
func (j *Flow) loadOVSPlugin(ctx context.Context, log report.Log) error {
	if j.NM == nil || j.Systemd == nil {
		return nil
	}
	j.ForgetNetwork() // the packages can include Open vSwitch and the plugin
	facts, err := j.Network(ctx)
	if err != nil || facts.NetworkManager.OVS {
		return err
	}
	j.ForgetNetwork() // NetworkManager takes over the connections again
	return j.restartNetworkManager(ctx, log)
}

func logPackageFindings(decision packages.Decision, log report.Log) {
	for _, f := range decision.Findings {
		switch f.Severity {
		case report.SeverityWarning:
			log.Warn(f.Message, f.Remedy)
		case report.SeverityNote:
			log.Note(f.Message)
		}
	}
}

func nodeOfRelease(release packages.Release) string {
	if release.IsZero() {
		return "a node"
	}
	return fmt.Sprintf("a node of OpenShift %s", release)
}
