// SPDX-License-Identifier: Apache-2.0

package leave

import (
	"cmp"
	"context"
	"errors"
	"path"
	"strings"

	"github.com/hcp-node-agent/hcp-node-agent/internal/crio"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger/resource"
	"github.com/hcp-node-agent/hcp-node-agent/internal/machine"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/software"
	"github.com/hcp-node-agent/hcp-node-agent/internal/steps"
)

// undoStep returns the step that reverts all changes in the ledger.
func undoStep(document *Document) func(context.Context, *Flow, report.Log) (steps.Outcome, error) {
	return func(ctx context.Context, f *Flow, log report.Log) (steps.Outcome, error) {
		f.Machine.Bridge.Log, f.Machine.Plugin.Log, f.Machine.LoadedConfigs.Log = log, log, log
		var err error
		if f.Machine.Plugin.ServiceAddresses, err = ignition.ClusterDNS(f.Machine.Tree); err != nil {
			log.Note(err.Error()) // the leave does not depend on cluster DNS
		}
		if f.Adoption != nil { // what it keeps has no earlier state, also if another process has changed it since
			if err := f.Machine.Ledger.Rewind(0, f.Adoption.Keeps); err != nil {
				return steps.Outcome{}, err
			}
		}
		found, err := f.findAddedPaths(f.Machine.Ledger.Items())
		if err != nil {
			return steps.Outcome{}, err
		}
		result, err := f.Machine.Ledger.Undo(ctx)
		notRestored := f.notRestored(result.Restored)
		sysctls, sysctlErr := resource.Sysctls{}.Unrestored(ctx, result.Restored)
		err = errors.Join(err, sysctlErr)
		if len(sysctls) > 0 {
			notRestored = append(notRestored, "sysctls keep their values until the next boot, because the kernel refuses the "+
				"former ones: "+strings.Join(sysctls, ", "))
		}
		document.Restored, document.Kept = len(result.Restored), ledger.Publish(result.Kept)
		document.NotRestored = append(document.NotRestored, notRestored...)
		for _, kept := range result.Kept {
			log.Warn(kept.KeptMessage(), "")
		}
		err = errors.Join(err, f.reportAddedPaths(document, found, log))
		for _, text := range notRestored {
			log.Note(text)
		}
		if f.Machine.Systemd != nil {
			err = errors.Join(err, f.Machine.Systemd.Reload(ctx))
		}
		if f.State.Exists() { // even an earlier run of the undo may have removed CAs of the cluster
			err = errors.Join(err, machine.UpdateTrustStore(ctx))
		}
		if err != nil {
			return steps.Outcome{}, withResumeHint(ctx, err)
		}
		if len(result.Restored) == 0 {
			return steps.Unchanged("no changes to revert")
		}
		return steps.Changed("reverted changes: %d", len(result.Restored))
	}
}

// withResumeHint adds the command that resumes the leave to the remedy of err. It
// returns err unchanged if ctx has ended, because an interruption needs no repair.
func withResumeHint(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return err
	}
	remedy := cmp.Or(report.RemedyOf(err), "# fix the cause, then run:")
	return report.Fail(report.Failed, remedy+"\nhcp-node-agent leave # resumes the leave", "%w", err)
}

// hostnameUnit is the unit of a payload that writes the current host name to /etc/hostname at each boot. The ledger
// does not know the former content.
const hostnameUnit = "/etc/systemd/system/node-valid-hostname.service"

// notRestored returns messages about changes that an undo does not revert by
// design.
func (f *Flow) notRestored(items []ledger.Item) []string {
	var modules, texts []string
	if f.Machine.Facts.Capabilities().OwnsPayload {
		texts = append(texts, "the image, and the files and units that Ignition wrote at the first boot, remain")
	}
	for _, item := range items {
		switch {
		case item.Kind == ledger.Module && !item.Before.Present:
			modules = append(modules, item.Target)
		case item.Kind == ledger.KernelArguments:
			texts = append(texts, "the running kernel keeps its arguments until the next boot: "+item.Desired.Value)
		case item.Target == hostnameUnit:
			texts = append(texts, "/etc/hostname keeps the host name that "+path.Base(hostnameUnit)+" wrote at boot")
		case item.Kind == software.TransactionKind && !f.Purge:
			if left := software.RemovalHint(item); left != "" {
				texts = append(texts, left)
			}
		case item.Kind == crio.StorageKind && (!f.Purge || len(item.Before.Names) == 0):
			if left, err := f.Machine.Tree.Exists(item.Target); err != nil || left {
				texts = append(texts, "images are kept in "+item.Target+", which CRI-O shares with podman: "+
					"\"podman image prune --all\" removes unused images")
			}
		}
	}
	if len(modules) > 0 {
		texts = append(texts, "kernel modules remain loaded until the next boot: "+strings.Join(modules, ", "))
	}
	return texts
}
