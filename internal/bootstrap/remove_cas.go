// SPDX-License-Identifier: Apache-2.0

package bootstrap

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/identity"
	"github.com/hcp-node-agent/hcp-node-agent/internal/joinstate"
	"github.com/hcp-node-agent/hcp-node-agent/internal/kube"
	"github.com/hcp-node-agent/hcp-node-agent/internal/kubelet"
	"github.com/hcp-node-agent/hcp-node-agent/internal/node"
	"github.com/hcp-node-agent/hcp-node-agent/internal/plan"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/request"
	"github.com/hcp-node-agent/hcp-node-agent/internal/steps"
)

// apiServerTimeout is the maximum time until kubelet and the static pods work with a changed API server.
const apiServerTimeout = 2 * time.Minute

// RemoveCAs removes CAs, in PEM, from those with which kubelet verifies the API server, and restarts kubelet. The API
// server must be verified with the remaining CAs alone, before and afterwards; otherwise kubelet keeps the CAs. It
// waits for other runs.
func RemoveCAs(ctx context.Context, options request.Options, cas []byte) error {
	j, err := openRecordedJoin(ctx, options)
	if err != nil {
		return err
	}
	defer j.Host.Close()
	return j.removeCAs(ctx, j.storedIdentity(), cas, j.restartKubelet)
}

// storedIdentity returns the identity in kubelet's kubeconfig.
func (j *Flow) storedIdentity() *identity.Identity {
	return &identity.Identity{
		Dir: identity.PKIDirectory, Kubeconfig: identity.KubeconfigPath, NodeName: j.Run.State.NodeName,
		Ledger: j.Host.Ledger, Log: report.Log{Sink: j.Run.Sink, Step: steps.ClientCertificate},
	}
}

// restartKubelet restarts kubelet, and waits until it is healthy.
func (j *Flow) restartKubelet(ctx context.Context) error {
	if err := j.Host.Systemd.Restart(ctx, kubelet.UnitName); err != nil {
		return j.diagnostics().ExplainStartFailure(ctx, kubelet.UnitName, err)
	}
	return node.WaitHealthy(ctx, node.HealthURL, j.diagnostics(),
		report.Log{Sink: j.Run.Sink, Step: steps.ClientCertificate})
}

func (j *Flow) removeCAs(
	ctx context.Context, own *identity.Identity, cas []byte, restart func(context.Context) error,
) error {
	var servers []string
	for _, file := range plan.APIServerFiles() {
		content, _, err := j.Host.Tree.ReadFile(file)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if server := plan.RemoteAPIServer(content); server != "" {
			servers = append(servers, server)
		}
	}
	restore, err := own.RemoveCAs(ctx, cas, servers...)
	if err != nil {
		return err
	}
	bounded, cancel := context.WithTimeout(ctx, apiServerTimeout)
	defer cancel()
	if err = restart(bounded); err == nil {
		err = own.CheckStored(bounded)
	}
	if err != nil {
		return undo(ctx, fmt.Errorf("kubelet keeps the former CAs: %w", err), restore, restart)
	}
	removed, err := kube.ParsePEMCertificates(cas)
	if err != nil {
		return err
	}
	recorded, err := kube.ParsePEMCertificates(j.Run.State.APIServerCA)
	if err != nil {
		return err
	}
	j.Run.State.APIServerCA = kube.EncodeCertificates(kube.MissingCertificates(removed, recorded))
	return joinstate.Write(j.Run.Dir, j.Run.State)
}

// undo runs functions that restore the state before a failure, also if ctx has ended, and returns all failures.
func undo(ctx context.Context, failure error, functions ...func(context.Context) error) error {
	bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), apiServerTimeout)
	defer cancel()
	failures := []error{failure}
	for _, function := range functions {
		failures = append(failures, function(bounded))
	}
	return errors.Join(failures...)
}
