// SPDX-License-Identifier: Apache-2.0

package bootstrap

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/hcp-node-agent/hcp-node-agent/internal/crio"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/systemd"
	"github.com/hcp-node-agent/hcp-node-agent/internal/kube"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
	"github.com/hcp-node-agent/hcp-node-agent/internal/machine"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/request"
	"github.com/hcp-node-agent/hcp-node-agent/internal/steps"
)

// TrustBundle adds the CAs of a bundle that the payload does not contain to the trust store of a joined host, and
// restarts CRI-O, which reads them when it starts. It waits for other runs.
func TrustBundle(ctx context.Context, options request.Options, bundle []byte) error {
	j, err := openRecordedJoin(ctx, options)
	if err != nil {
		return err
	}
	defer j.Host.Close()
	if err := j.addBundle(ctx, bundle); err != nil {
		return err
	}
	if err := machine.UpdateTrustStore(ctx); err != nil {
		return err
	}
	action, err := machine.RequiredAction(ctx, j.Host.Systemd, j.Host.Tree, systemd.CRIOUnit)
	if err != nil || action != systemd.RestartNeeded {
		return err
	}
	if err := j.Host.Systemd.Restart(ctx, crio.Unit); err != nil {
		return j.diagnostics().ExplainStartFailure(ctx, crio.Unit, err)
	}
	return nil
}

// addBundle writes the CAs of a bundle that the payload does not contain to a file of their own. The payload's file is
// kept, because it also contains the CAs of the cluster's proxy.
func (j *Flow) addBundle(ctx context.Context, bundle []byte) error {
	payload, isServed, err := j.servedFile(ctx, crio.TrustBundlePath)
	if err != nil {
		return err
	}
	if !isServed {
		return report.Fail(report.Failed, "", "%s is not that of the payload; no CA is added", crio.TrustBundlePath)
	}
	certificates, err := kube.ParsePEMCertificates(bundle)
	if err != nil {
		return fmt.Errorf("reading the trust bundle of the cluster: %w", err)
	}
	known, _ := kube.ParsePEMCertificates(payload) // the file is empty if the cluster had no additional CAs
	added := kube.EncodeCertificates(kube.MissingCertificates(known, certificates))
	change := ledger.FileChange(crio.AddedCAsPath, "the trust bundle of the cluster", string(added))
	_, err = j.Host.Ledger.Apply(ctx, steps.Files, []ledger.Change{change})
	return err
}

// removeAddedBundle removes the file of addBundle if the payload was fetched after it, because it contains the CAs
// then, or if the file differs from the recorded one. The service adds the CAs again that are missing.
func (j *Flow) removeAddedBundle(ctx context.Context, log report.Log) error {
	items := j.Host.Ledger.Items()
	at := slices.IndexFunc(items, func(item ledger.Item) bool { return item.Target == crio.AddedCAsPath })
	if at < 0 {
		return nil
	}
	pending, err := j.Host.Ledger.Diff(ctx, []ledger.Change{items[at].Change})
	if err != nil || (j.Loaded.IsSaved() && len(pending) == 0) {
		return err
	}
	_, err = j.Host.Ledger.RevertAndWarn(ctx, log, func(item ledger.Item) bool { return item.Target == crio.AddedCAsPath })
	return errors.Join(err, machine.UpdateTrustStore(ctx))
}
