// SPDX-License-Identifier: Apache-2.0

package service

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"reflect"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/bootstrap"
	"github.com/hcp-node-agent/hcp-node-agent/internal/machine"
	"github.com/hcp-node-agent/hcp-node-agent/internal/node"
	"github.com/hcp-node-agent/hcp-node-agent/internal/node/pods"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/request"
)

// Times of the check of the cluster's pull secret and trust bundle. They must be unchanged for renewalConfirmation
// before the service uses them: an administrator may correct them at once.
const (
	renewalsInterval    = 10 * time.Minute
	renewalConfirmation = 4 * time.Minute
)

// secretObservation is the observation of the cluster's pull secret.
type secretObservation struct {
	observation
	refusal string // why this version was not used; "" if it was not tried
}

// confirm records an observation, as that of the CAs.
func (o *secretObservation) confirm(version string, now time.Time, after time.Duration) bool {
	if version != o.version {
		o.refusal = ""
	}
	return o.observation.confirm(version, now, after)
}

// secretState describes the pull secret of a node.
type secretState int

const (
	secretKept     secretState = iota // it is current, or not the service's to change
	secretOutdated                    // the cluster has another one
	secretInvalid                     // the cluster has another one that is not valid
)

// secretFacts are the facts about the pull secret of a node.
type secretFacts struct {
	published    node.Published
	installed    []byte // nil: the file does not exist, which is drift
	isConfirmed  bool   // the published one has been unchanged for some minutes
	isSynced     bool   // a DaemonSet of HyperShift writes the file
	isOverridden bool   // the administrator has excluded or overridden the file
}

// state decides what to do. A file has one writer.
func (f secretFacts) state() secretState {
	switch {
	case f.published.Version == "", f.installed == nil, !f.isConfirmed, f.isSynced, f.isOverridden,
		isSameJSON(f.published.Content, f.installed):
		return secretKept
	case !machine.IsPullSecret(f.published.Content):
		return secretInvalid
	}
	return secretOutdated
}

// isSameJSON reports whether two documents differ at most in their form.
func isSameJSON(a, b []byte) bool {
	var left, right any
	return json.Unmarshal(a, &left) == nil && json.Unmarshal(b, &right) == nil && reflect.DeepEqual(left, right)
}

// pullSecretCheck compares the pull secret of a cluster with that of its node.
type pullSecretCheck struct {
	node         *node.Node
	path         string // of the pull secret on the host
	isHosted     bool   // on a standalone cluster, the machine-config-daemon writes the file
	observed     *secretObservation
	confirmAfter time.Duration
	isServed     func(context.Context) (bool, error) // whether the file is that of the payload
}

func (m *nodeMonitor) pullSecretCheck() pullSecretCheck {
	return pullSecretCheck{
		node:         m.node,
		path:         pods.PullSecretPath,
		isHosted:     m.state.Hosted,
		observed:     &m.pullSecret,
		confirmAfter: m.interval(renewalConfirmation),
		isServed:     m.isServed(pods.PullSecretPath),
	}
}

// isServed returns a function that reports whether a file of the host is that of the payload.
func (m *nodeMonitor) isServed(file string) func(context.Context) (bool, error) {
	return func(ctx context.Context) (bool, error) { return bootstrap.HasServedFile(ctx, m.Options.Options, file) }
}

// find returns a finding if the cluster has another pull secret than the node.
func (c pullSecretCheck) find(ctx context.Context) ([]report.Finding, error) {
	facts, err := c.gather(ctx, time.Now())
	if err != nil {
		return nil, err
	}
	const subject = "the pull secret"
	switch facts.state() {
	case secretInvalid:
		return []report.Finding{newWarning(report.PullSecretInvalid, subject,
			node.PullSecretObject+" of the cluster is no valid pull secret; the node keeps its own",
			"# correct the pull secret to which spec.pullSecret of the HostedCluster refers")}, nil
	case secretOutdated:
		text := "the pull secret of the cluster was changed, and the node does not use the new one"
		if c.observed.refusal != "" {
			text += ": " + c.observed.refusal
		}
		return []report.Finding{newWarning(report.PullSecretOutdated, subject, text, joinAgain)}, nil
	}
	return nil, nil
}

// gather returns the facts at a time. It requests those that only matter for a change after all others.
func (c pullSecretCheck) gather(ctx context.Context, now time.Time) (f secretFacts, err error) {
	if !c.isHosted {
		return f, nil
	}
	if f.published, err = c.node.PublishedPullSecret(ctx); err != nil || f.published.Version == "" {
		return f, err
	}
	if f.installed, err = os.ReadFile(c.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return f, err
	}
	f.isConfirmed = c.observed.confirm(f.published.Version, now, c.confirmAfter)
	if f.state() == secretKept {
		return f, nil
	}
	if f.isSynced, err = c.node.HasPullSecretSyncer(ctx); err != nil || f.isSynced {
		return f, err
	}
	isServed, err := c.isServed(ctx)
	f.isOverridden = !isServed
	return f, err
}

// repair replaces the pull secret of the node. It fails if that of the cluster has changed since the check.
func (c pullSecretCheck) repair(ctx context.Context, options request.Options) (string, error) {
	facts, err := c.gather(ctx, time.Now())
	if err != nil {
		return "", err
	}
	if facts.state() != secretOutdated {
		return "", report.Fail(report.Failed, joinAgain,
			"the pull secret of the cluster has changed since the check; the node keeps its own")
	}
	err = bootstrap.RenewPullSecret(ctx, options, facts.published.Content)
	if report.CodeOf(err) == report.CredentialRefused {
		c.observed.refusal = err.Error()
	}
	return "the pull secret was renewed: kubelet and CRI-O use that of the cluster", err
}
