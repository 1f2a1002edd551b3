// SPDX-License-Identifier: Apache-2.0

package service

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/bootstrap"
	"github.com/hcp-node-agent/hcp-node-agent/internal/crio"
	"github.com/hcp-node-agent/hcp-node-agent/internal/kube"
	"github.com/hcp-node-agent/hcp-node-agent/internal/lists"
	"github.com/hcp-node-agent/hcp-node-agent/internal/node"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/request"
)

// trustBundleCheck compares the additional CAs of a cluster with those that its node trusts. A CA that was removed from
// the cluster remains until the next payload.
type trustBundleCheck struct {
	node         *node.Node
	paths        []string // of the CAs on the host
	isHosted     bool     // on a standalone cluster, the machine-config-daemon writes the file
	observed     *observation
	confirmAfter time.Duration
	isServed     func(context.Context) (bool, error) // whether the file of the bundle is that of the payload
}

func (m *nodeMonitor) trustBundleCheck() trustBundleCheck {
	return trustBundleCheck{
		node:         m.node,
		paths:        []string{crio.TrustBundlePath, crio.AddedCAsPath},
		isHosted:     m.state.Hosted,
		observed:     &m.bundle,
		confirmAfter: m.interval(renewalConfirmation),
		isServed:     m.isServed(crio.TrustBundlePath),
	}
}

// find returns a finding if the cluster has additional CAs that the node does not trust.
func (c trustBundleCheck) find(ctx context.Context) ([]report.Finding, error) {
	_, missing, err := c.missing(ctx, time.Now())
	if err != nil || len(missing) == 0 {
		return nil, err
	}
	names := lists.Map(missing, func(ca *x509.Certificate) string { return fmt.Sprintf("%q", ca.Subject) })
	text := fmt.Sprintf("the trust bundle of the cluster has new CAs that this node does not trust (%s)",
		strings.Join(names, "; "))
	return []report.Finding{newWarning(report.TrustBundleOutdated, "the trust bundle", text, joinAgain)}, nil
}

// missing returns the trust bundle of the cluster, and its CAs that the host does not have. There are none until they
// are confirmed, if the cluster does not offer them, and if the payload does not contain the file of the bundle as
// served.
func (c trustBundleCheck) missing(ctx context.Context, now time.Time) ([]byte, []*x509.Certificate, error) {
	if !c.isHosted {
		return nil, nil, nil
	}
	published, err := c.node.PublishedTrustBundle(ctx)
	if err != nil || len(published.Content) == 0 || !c.observed.confirm(published.Version, now, c.confirmAfter) {
		return nil, nil, err
	}
	certificates, err := kube.ParsePEMCertificates(published.Content)
	if err != nil {
		return nil, nil, fmt.Errorf("reading the trust bundle of the cluster: %w", err)
	}
	var installed []byte
	for _, file := range c.paths {
		content, err := os.ReadFile(file)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, nil, err
		}
		installed = kube.JoinPEM(installed, content)
	}
	known, _ := kube.ParsePEMCertificates(installed) // the files are empty if the cluster had no additional CAs
	missing := kube.MissingCertificates(known, certificates)
	if len(missing) == 0 {
		return nil, nil, nil
	}
	if isServed, err := c.isServed(ctx); err != nil || !isServed {
		return nil, nil, err
	}
	return published.Content, missing, nil
}

// repair adds the new CAs to the trust store. It fails if the trust bundle has changed since the check.
func (c trustBundleCheck) repair(ctx context.Context, options request.Options) (string, error) {
	bundle, missing, err := c.missing(ctx, time.Now())
	if err != nil {
		return "", err
	}
	if len(missing) == 0 {
		return "", report.Fail(report.Failed, joinAgain,
			"the trust bundle of the cluster has changed since the check; no CA was added")
	}
	return "CRI-O trusts the new CAs of the cluster's trust bundle", bootstrap.TrustBundle(ctx, options, bundle)
}
