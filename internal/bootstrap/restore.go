// SPDX-License-Identifier: Apache-2.0

package bootstrap

import (
	"context"
	"strings"

	"github.com/hcp-node-agent/hcp-node-agent/internal/identity"
	"github.com/hcp-node-agent/hcp-node-agent/internal/joinstate"
	"github.com/hcp-node-agent/hcp-node-agent/internal/kube"
	"github.com/hcp-node-agent/hcp-node-agent/internal/kubelet"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
	"github.com/hcp-node-agent/hcp-node-agent/internal/machine"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/request"
	"github.com/hcp-node-agent/hcp-node-agent/internal/steps"
)

// Restore restores what differs from the recorded join, as a repeated join does, with its
// saved payload and settings. It does not change the record of the join. It waits for
// other runs, and fails if something still differs afterwards.
func Restore(ctx context.Context, options request.Options) (bool, error) {
	j, err := openRecordedJoin(ctx, options)
	if err != nil {
		return false, err
	}
	defer j.Host.Close()
	selected := selectSteps(func(s steps.JoinStep) bool { return s.Restores })
	runner := steps.Runner{Sink: j.Run.Sink, Ledger: j.Host.Ledger, Skip: j.Run.Config.Skip}
	changed, err := steps.Run(ctx, runner, selected, j)
	if err != nil {
		return changed, err
	}
	return changed, checkRestored(ctx, j.Host.Ledger)
}

// TrustCAs adds CAs, in PEM, to those with which kubelet verifies the API server, and restarts kubelet.
// It waits for other runs.
func TrustCAs(ctx context.Context, options request.Options, cas []byte) error {
	j, err := openRecordedJoin(ctx, options)
	if err != nil {
		return err
	}
	defer j.Host.Close()
	j.Run.State.APIServerCA = kube.JoinPEM(j.Run.State.APIServerCA, cas) // until the next payload is fetched
	if err := joinstate.Write(j.Run.Dir, j.Run.State); err != nil {
		return err
	}
	own := identity.Identity{
		Kubeconfig: identity.KubeconfigPath, Ledger: j.Host.Ledger,
		Log: report.Log{Sink: j.Run.Sink, Step: steps.ClientCertificate},
	}
	if err := own.AddCAs(ctx, cas); err != nil {
		return err
	}
	if err := j.Host.Systemd.Restart(ctx, kubelet.UnitName); err != nil {
		return j.diagnostics().ExplainStartFailure(ctx, kubelet.UnitName, err)
	}
	return nil
}

// openRecordedJoin opens the host for a repair by the service, with the saved settings of its join. The
// caller must close it.
func openRecordedJoin(ctx context.Context, options request.Options) (*Flow, error) {
	options.Resume, options.Service = true, true
	m, _, err := machine.Acquire(ctx, options.StateDir, options.Sink, true)
	if err != nil {
		return nil, err
	}
	if err := m.RequireSystemd(); err != nil {
		m.Close()
		return nil, err
	}
	run, err := prepareJoin(ctx, options)
	if err != nil {
		m.Close()
		return nil, err
	}
	return NewFlow(run, m), nil
}

// checkRestored fails if the host still differs from the joined state.
func checkRestored(ctx context.Context, l *ledger.Ledger) error {
	drift, err := l.Drift(ctx)
	if err != nil || len(drift) == 0 {
		return err
	}
	names := make([]string, 0, len(drift))
	for _, one := range drift {
		names = append(names, one.Target)
	}
	return report.Fail(report.DriftFound, "hcp-node-agent join", "still different after the repair: %s",
		strings.Join(names, ", "))
}
