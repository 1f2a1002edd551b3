// SPDX-License-Identifier: Apache-2.0

package service

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"net/url"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/bootstrap"
	"github.com/hcp-node-agent/hcp-node-agent/internal/identity"
	"github.com/hcp-node-agent/hcp-node-agent/internal/kube"
	"github.com/hcp-node-agent/hcp-node-agent/internal/node"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/request"
)

// apiServerFacts are the facts about the URL of the API server of a node.
type apiServerFacts struct {
	published   node.APIServers
	used        string // in kubelet's kubeconfig
	isConfirmed bool   // the published URL has been unchanged for some minutes
}

// next returns the URL that the node must use, "" if it is that in use. The external URL is correct, too: a node can
// have joined with it.
func (f apiServerFacts) next() string {
	used := kube.NormalizeServer(f.used)
	parsed, err := url.Parse(f.published.Internal)
	switch {
	case f.published.Version == "", !f.isConfirmed, used == kube.NormalizeServer(f.published.Internal),
		used == kube.NormalizeServer(f.published.External):
		return ""
	case err != nil || parsed.Scheme != "https" || parsed.Hostname() == "": // before the API server has an address
		return ""
	}
	return "https://" + net.JoinHostPort(parsed.Hostname(), cmp.Or(parsed.Port(), "443")) // HyperShift writes no brackets
}

// apiServerCheck compares the URL of the API server that a cluster publishes with that of its node.
type apiServerCheck struct {
	node         *node.Node
	kubeconfig   []byte // kubelet's
	isHosted     bool   // on a standalone cluster, the machine-config-daemon writes the files
	observed     *observation
	confirmAfter time.Duration
	checkMove    func(ctx context.Context, server string) error // whether it is of the same cluster
}

func (m *nodeMonitor) apiServerCheck() apiServerCheck {
	own := identity.Identity{Dir: m.pkiDir, Kubeconfig: m.kubeconfig, NodeName: m.state.NodeName}
	return apiServerCheck{
		node:         m.node,
		kubeconfig:   m.kubeconfigContent,
		isHosted:     m.state.Hosted,
		observed:     &m.apiServer,
		confirmAfter: m.interval(renewalConfirmation),
		checkMove:    own.CheckMove,
	}
}

// find returns a finding if the cluster has another API server than the node uses.
func (c apiServerCheck) find(ctx context.Context) ([]report.Finding, error) {
	facts, err := c.gather(ctx, time.Now())
	next := facts.next()
	if err != nil || next == "" {
		return nil, err
	}
	moved := fmt.Sprintf("the API server of the cluster has moved from %s to %s", facts.used, next)
	reason, text := report.APIServerMoved, moved+": the node will lose its connection when the former one ends"
	if err := c.checkMove(ctx, next); err != nil {
		reason, text = report.NewAPIServerUnusable, moved+", which this node cannot use: "+err.Error()
	}
	return []report.Finding{newWarning(reason, "the API server", text, joinAgain)}, nil
}

// gather returns the facts at a time.
func (c apiServerCheck) gather(ctx context.Context, now time.Time) (f apiServerFacts, err error) {
	if !c.isHosted {
		return f, nil
	}
	if f.published, err = c.node.PublishedAPIServers(ctx); err != nil || f.published.Version == "" {
		return f, err
	}
	cluster, err := kube.ParseCluster(c.kubeconfig)
	f.used, f.isConfirmed = cluster.Server, c.observed.confirm(f.published.Version, now, c.confirmAfter)
	return f, err
}

// repair makes the node use the API server of the cluster. It fails if that has changed since the check.
func (c apiServerCheck) repair(ctx context.Context, options request.Options) (string, error) {
	facts, err := c.gather(ctx, time.Now())
	if err != nil {
		return "", err
	}
	next := facts.next()
	if next == "" {
		return "", report.Fail(report.Failed, joinAgain,
			"the API server that the cluster publishes has changed since the check; the node keeps its own")
	}
	return fmt.Sprintf("the node uses the API server %s in place of %s", next, facts.used),
		bootstrap.MoveAPIServer(ctx, options, next)
}
