// SPDX-License-Identifier: Apache-2.0

package bootstrap

import (
	"context"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition/adapt"
	"github.com/hcp-node-agent/hcp-node-agent/internal/node/pods"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/request"
	"github.com/hcp-node-agent/hcp-node-agent/internal/software/osimage"
	"github.com/hcp-node-agent/hcp-node-agent/internal/steps"
)

// pullSecretTimeout is the maximum time of the requests with a new pull secret, while no other run can change the host.
const pullSecretTimeout = time.Minute

// HasServedFile reports whether a file of a joined host is that of its payload: the administrator has neither excluded
// nor overridden it. It changes nothing.
func HasServedFile(ctx context.Context, options request.Options, file string) (bool, error) {
	options.Resume, options.Service = true, true
	run, err := prepareJoin(ctx, options)
	if err != nil {
		return false, err
	}
	_, isServed, err := NewFlow(run, nil).servedFile(ctx, file)
	return isServed, err
}

// RenewPullSecret replaces the pull secret of a joined host, if an image of the release can be read with the new one.
// It changes neither the saved payload nor the desired state of the file: the new content is like that of
// HyperShift's DaemonSet, which is no drift. kubelet reads the file again after at most five minutes
// (k8s.io/kubernetes, pkg/credentialprovider/provider.go), CRI-O at each pull, and nothing is restarted. It waits for
// other runs.
func RenewPullSecret(ctx context.Context, options request.Options, secret []byte) error {
	j, err := openRecordedJoin(ctx, options)
	if err != nil {
		return err
	}
	defer j.Host.Close()
	return j.renewPullSecret(ctx, secret)
}

func (j *Flow) renewPullSecret(ctx context.Context, secret []byte) error {
	payload, isServed, err := j.servedFile(ctx, pods.PullSecretPath)
	if err != nil {
		return err
	}
	if !isServed {
		return report.Fail(report.Failed, "", "%s is not that of the payload, and is not replaced", pods.PullSecretPath)
	}
	present, _, err := j.Host.Tree.ReadFile(pods.PullSecretPath)
	if err != nil {
		return err
	}
	if image := j.Loaded.Payload.MachineConfig().OSImageURL; image != "" {
		bounded, cancel := context.WithTimeout(ctx, pullSecretTimeout)
		defer cancel()
		if err := comparePullSecrets(bounded, j.Software.RegistryClient(report.Log{}), image, present, secret); err != nil {
			return err
		}
	}
	return j.Host.Ledger.Rewrite(ctx, steps.Files, pods.PullSecretPath, payload, secret)
}

// servedFile loads the saved payload, and returns the content of a file. It reports false if the payload does not
// contain the file, or if the administrator has excluded or overridden it.
func (j *Flow) servedFile(ctx context.Context, file string) (content []byte, isServed bool, err error) {
	err = j.LoadPayload(ctx, report.Log{}, j.Run.SavedPayload())
	loaded := j.Loaded.Payload
	if err != nil || loaded == nil || !adapt.IsAsServed(loaded, j.Run.Config.Payload.Exclude, file) {
		return nil, false, err
	}
	content, _, _ = loaded.File(file)
	return content, true, nil
}

// comparePullSecrets returns nil if an image can be read with the next pull secret, or if the registries reject the
// present one too. It fails with CredentialRefused if only the present one can be used, and with another code if no
// registry responds.
func comparePullSecrets(ctx context.Context, client *osimage.Client, image string, present, next []byte) error {
	read := func(secret []byte) error {
		client.PullSecret = secret
		_, err := client.Open(ctx, image)
		return err
	}
	failure := read(next)
	if failure == nil {
		return nil
	}
	switch err := read(present); {
	case err == nil:
		return report.Fail(report.CredentialRefused, report.RemedyOf(failure),
			"the node keeps its pull secret, with which it can pull; with the new one it cannot: %w", failure)
	case report.CodeOf(failure) == report.CredentialRefused && report.CodeOf(err) == report.CredentialRefused:
		return nil
	}
	return report.Fail(report.Failed, report.RemedyOf(failure), "the new pull secret could not be tested: %w", failure)
}
