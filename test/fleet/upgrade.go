// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/hcp-node-agent/hcp-node-agent/internal/api/v1alpha1"
	"github.com/hcp-node-agent/hcp-node-agent/internal/joinstate"
	agentnode "github.com/hcp-node-agent/hcp-node-agent/internal/node"
	"github.com/hcp-node-agent/hcp-node-agent/internal/service"
)

// fate is the result of a node's upgrade.
type fate string

const (
	upgrades      fate = "is upgraded"
	dies          fate = "is lost in its upgrade and reports nothing"
	staysCordoned fate = "fails and remains cordoned"
	restores      fate = "fails and restores its former configuration"
)

// fateOf returns the fate of the node with an index: 2 % fail, each of them in another way than the one before.
func fateOf(index int) fate {
	const share, offset = 50, 25
	if index%share != offset {
		return upgrades
	}
	return []fate{dies, staysCordoned, restores}[index/share%3]
}

// maxChecks is the number of checks for a slot per second, of all agents.
const maxChecks = 250

// serve runs the check of the agent's service for a slot until ctx ends.
func (f *fleet) serve(ctx context.Context, n *node) error {
	interval := max(f.settings.interval, time.Duration(len(f.nodes))*time.Second/maxChecks)
	for delay := rand.N(interval); sleep(ctx, delay) == nil; delay = interval { //nolint:gosec // no secret
		annotations, version, err := n.agent.Annotations(ctx)
		if err != nil {
			continue // as the service: until the next check
		}
		permission := service.PermissionIn(annotations)
		if !permission.MustUpgrade(n.config, n.attempt) {
			continue
		}
		begun := map[string]string{v1alpha1.AnnotationState: string(v1alpha1.AgentUpgrading)}
		if n.agent.AnnotateVersion(ctx, version, begun) != nil {
			continue
		}
		n.attempt = joinstate.Attempt{Slot: permission.Slot, Config: permission.Config, Begun: time.Now()}
		failed := f.upgrade(ctx, n, permission)
		if ctx.Err() != nil || n.kubelet.stopped.Load() {
			break
		}
		if failed != nil {
			return failed
		}
	}
	return nil //nolint:nilerr // the service checks again, until ctx ends
}

// upgrade upgrades a node as the agent does. The node is drained and not Ready meanwhile.
func (f *fleet) upgrade(ctx context.Context, n *node, permission service.Permission) error {
	_, _, failure := service.PublishedUserData(ctx, n.agent.Conn.Client, permission.Secret, permission.Config)
	if failure == nil {
		failure = f.replace(ctx, n)
	}
	if n.kubelet.stopped.Load() {
		return nil
	}
	state, reason := v1alpha1.AgentHealthy, ""
	switch {
	case failure == nil:
		n.config = permission.Config
	case n.fate == staysCordoned:
		state, reason = v1alpha1.AgentDegraded, "the Node is cordoned"
	}
	if failure != nil {
		n.attempt.Failure = failure.Error()
	}
	n.attempt.Ended = time.Now()
	return n.report(ctx, state, reason)
}

// replace drains the node, and replaces its configuration unless that fails.
func (f *fleet) replace(ctx context.Context, n *node) error {
	if err := n.agent.Drain(ctx, agentnode.ForUpgrade, 0, time.Now()); err != nil {
		return err
	}
	if err := n.kubelet.setReady(ctx, corev1.ConditionFalse); err != nil {
		return err
	}
	if err := sleep(ctx, f.settings.upgrade); err != nil {
		return err
	}
	if n.fate == dies {
		n.kubelet.stopped.Store(true)
		return errors.New(string(n.fate))
	}
	if err := n.kubelet.setReady(ctx, corev1.ConditionTrue); err != nil {
		return err
	}
	if n.fate == staysCordoned {
		return errors.New(string(n.fate))
	}
	err := n.agent.UndoCordon(ctx, agentnode.ForUpgrade)
	if n.fate == restores {
		return errors.Join(errors.New(string(n.fate)), err)
	}
	return err
}
