// SPDX-License-Identifier: Apache-2.0

package bootstrap

import (
	"context"

	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition"
	"github.com/hcp-node-agent/hcp-node-agent/internal/joinstate"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
	"github.com/hcp-node-agent/hcp-node-agent/internal/payload"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/steps"
)

// awaitReady waits until the cluster reports the node Ready, and then removes the
// bootstrap credential from the host.
func awaitReady(ctx context.Context, j *Flow, log report.Log) (steps.Outcome, error) {
	node, err := j.Session.NodeClient(j.Loaded.Payload, log)
	if err != nil {
		return steps.Outcome{}, err
	}
	node.ReportedSince = j.kubeletStarted
	if err := node.WaitReady(ctx); err != nil {
		return steps.Outcome{}, err
	}
	j.Run.State.Registered = true
	removed, err := j.removeBootstrapCredential(ctx)
	if err != nil {
		return steps.Outcome{}, err
	}
	if removed {
		return steps.Changed("Node %s is Ready; removed the bootstrap credential", j.Run.State.NodeName)
	}
	return steps.Unchanged("Node %s is Ready", j.Run.State.NodeName)
}

// removeBootstrapCredential removes the bootstrap credential from a node of a
// hosted cluster. The credential is valid for a year and can request a client
// certificate for any node.
func (j *Flow) removeBootstrapCredential(ctx context.Context) (bool, error) {
	isNative := j.Host.Facts.Capabilities().OwnsPayload // its files belong to Ignition
	if isNative || j.Run.Config.KeepBootstrap || !j.Run.State.Hosted || j.Loaded.Payload.BootstrapKubeconfig() == nil {
		return false, nil
	}
	made, err := j.Host.Ledger.Apply(ctx, steps.Ready, []ledger.Change{{
		Kind: ledger.File, Target: ignition.BootstrapKubeconfigPath, Reason: "the node has its own client certificate",
		NoBackup: true,
	}})
	if err != nil {
		return false, err
	}
	return len(made) > 0, saveWithout(j.Run.Dir, j.Loaded, ignition.BootstrapKubeconfigPath)
}

// saveWithout saves a payload and its overrides without the file at path, so that
// later runs do not write it again. It removes the file from loaded.Overrides as well.
func saveWithout(dir string, loaded payload.Loaded, path string) error {
	raw, err := ignition.WithoutFile(loaded.Payload.Raw, path)
	if err != nil {
		return err
	}
	for i, one := range loaded.Overrides {
		if loaded.Overrides[i].Config, err = ignition.WithoutFile(one.Config, path); err != nil {
			return err
		}
	}
	if err := joinstate.SaveOverrides(dir, loaded.Overrides); err != nil {
		return err
	}
	return joinstate.SaveFile(dir, joinstate.PayloadFile, raw)
}
