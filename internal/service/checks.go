// SPDX-License-Identifier: Apache-2.0

package service

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/crio"
	"github.com/hcp-node-agent/hcp-node-agent/internal/identity"
	"github.com/hcp-node-agent/hcp-node-agent/internal/joinstate"
	"github.com/hcp-node-agent/hcp-node-agent/internal/kube"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
	"github.com/hcp-node-agent/hcp-node-agent/internal/lists"
	"github.com/hcp-node-agent/hcp-node-agent/internal/machine"
	"github.com/hcp-node-agent/hcp-node-agent/internal/nodecheck"
	"github.com/hcp-node-agent/hcp-node-agent/internal/plan"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/software"
)

// hostCheck is the name of the check of the host name and the addresses.
const hostCheck = "host"

const (
	// pathsInterval is the interval of the measurements of paths to other nodes, three in each. All nodes of a site have
	// their own, which is up to a quarter longer.
	pathsInterval = 10 * time.Minute
	pathsJitter   = pathsInterval / 4
)

// checks returns the checks of the service, whose names label metrics, and their intervals. For 100 nodes they
// cause at most a few API requests per minute.
func (m *nodeMonitor) checks() []Check {
	findDrift := func(ctx context.Context) ([]report.Finding, error) { return m.drift.find(ctx, m.StateDir) }
	findCAs := func(ctx context.Context) ([]report.Finding, error) { return m.caCheck().find(ctx) }
	findRelease := func(ctx context.Context) ([]report.Finding, error) {
		return checkRelease(ctx, m.StateDir, m.node.Conn)
	}
	findUpdates := func(ctx context.Context) ([]report.Finding, error) {
		return software.PendingUpdates(ctx, m.systemd.Reader())
	}
	findPaths := func(ctx context.Context) ([]report.Finding, error) {
		found, _, err := m.paths.Find(ctx)
		return found, err
	}
	checks := []Check{
		{Name: "node", Interval: time.Minute, Find: m.checkNode},
		{Name: hostCheck, Interval: time.Minute, Find: m.checkHost},
		{Name: "drift", Interval: 10 * time.Minute, Find: findDrift},
		{Name: "certificates", Interval: 15 * time.Minute, Find: m.checkCertificates},
		{Name: "cluster-cas", Interval: casInterval, Find: findCAs},
		{Name: "renewals", Interval: renewalsInterval, Find: m.checkRenewals, NeedsAPI: true},
		{Name: "images", Interval: 6 * time.Hour, Find: m.checkImages},
		{Name: "release", Interval: time.Hour, Find: findRelease, NeedsAPI: true},
		{Name: "updates", Interval: time.Hour, Find: findUpdates},
		{Name: "rollout", Interval: time.Minute, Find: m.checkRollout, NeedsAPI: true},
		{Name: "paths", Interval: pathsInterval + rand.N(pathsJitter), Find: findPaths}, //nolint:gosec // no secret
	}
	for i := range checks {
		checks[i].Interval = m.interval(checks[i].Interval)
	}
	return checks
}

// checkNode returns the reasons why the Node is not Ready or not schedulable. It also records whether the API server
// responds.
func (m *nodeMonitor) checkNode(ctx context.Context) ([]report.Finding, error) {
	found, err := m.node.Findings(ctx)
	m.isDisconnected = err != nil || slices.ContainsFunc(found, func(f report.Finding) bool {
		return f.Reason == report.APIServerUnreachable
	})
	return found, err
}

// checkHost returns findings about another host name and other addresses than those of the
// Node. Changes that NetworkManager reports run the check at once.
func (m *nodeMonitor) checkHost(ctx context.Context) ([]report.Finding, error) {
	facts, err := nodecheck.GatherHost(ctx, m.systemd.Reader(), m.StateDir, m.state.NodeName)
	if err != nil {
		return nil, err
	}
	return facts.Findings(), nil
}

// driftCheck compares the host with the state that the join created.
type driftCheck struct {
	count *int // differences of the last completed check; nil before
}

// find returns a finding if the host differs from the state that the join created. It records the number of
// differences for the metrics.
func (d *driftCheck) find(ctx context.Context, stateDir string) ([]report.Finding, error) {
	host, err := machine.Open(ctx, stateDir, false)
	if err != nil {
		return nil, err
	}
	defer host.Close()
	drift, err := host.Ledger.Drift(ctx)
	if err != nil {
		return nil, err
	}
	count := len(drift)
	d.count = &count
	if count == 0 {
		return nil, nil
	}
	names := lists.Map(drift, func(d ledger.Difference) string { return d.Target })
	return []report.Finding{newWarning(report.ConfigurationDrift, "drift",
		"drift: "+report.AbbreviateList(names),
		"hcp-node-agent status # shows all drift; hcp-node-agent join restores the joined state")}, nil
}

// disconnectedTimeout is the time for requests while the API server is unreachable.
const disconnectedTimeout = time.Second

// checkCertificates returns findings about the renewal of kubelet's certificates.
func (m *nodeMonitor) checkCertificates(ctx context.Context) ([]report.Finding, error) {
	own := &identity.Identity{Dir: m.pkiDir, NodeName: m.state.NodeName}
	serving, err := plan.ServingCertificate(m.node, m.state.Topology())
	if err != nil {
		return nil, err
	}
	if m.isDisconnected { // listing its CSRs is repeated until the check ends, and no other check runs meanwhile
		limited, cancel := context.WithTimeout(ctx, disconnectedTimeout)
		defer cancel()
		ctx = limited
	}
	found, err := checkServing(ctx, serving)
	return append(renewalFinding("client certificate", own.CheckRenewal(time.Now())), found...), err
}

// checkServing returns a finding if there is no serving certificate, or if its renewal awaits approval.
func checkServing(ctx context.Context, serving *identity.Serving) ([]report.Finding, error) {
	if missing := serving.Findings(ctx); len(missing) > 0 {
		return missing, nil
	}
	next, err := serving.CheckRenewal(ctx)
	return renewalFinding(identity.ServingSubject, next), err
}

func renewalFinding(subject string, next identity.Renewal) []report.Finding {
	if next.Text == "" {
		return nil
	}
	return []report.Finding{newWarning(report.CertificateExpiring, subject, next.Text, next.Remedy)}
}

// checkRenewals returns findings about a pull secret, additional CAs and an API server of the cluster that the node
// does not use.
func (m *nodeMonitor) checkRenewals(ctx context.Context) ([]report.Finding, error) {
	secrets, secretErr := m.pullSecretCheck().find(ctx)
	bundles, bundleErr := m.trustBundleCheck().find(ctx)
	servers, serverErr := m.apiServerCheck().find(ctx)
	return slices.Concat(secrets, bundles, servers), errors.Join(secretErr, bundleErr, serverErr)
}

// checkImages returns a finding if images can no longer be pulled. It tests this
// with the pause image, which exists locally. An expired pull secret otherwise goes
// unnoticed.
func (m *nodeMonitor) checkImages(ctx context.Context) ([]report.Finding, error) {
	effective, err := crio.RunningConfig(ctx)
	if err != nil {
		return nil, err
	}
	return m.node.Host.CheckPull(ctx, effective.PauseImage)
}

// checkRelease returns a finding for each of kubelet and CRI-O that does not match the release of the
// payload, and for a kubelet that does not match the API server. An update of the host's packages or
// of the control plane causes them.
func checkRelease(ctx context.Context, stateDir string, connection *kube.Conn) ([]report.Finding, error) {
	contents, err := joinstate.LoadSoftware(stateDir)
	if err != nil {
		return nil, err
	}
	versions := software.InstalledVersions(ctx)
	if versions.Server, err = connection.ServerVersion(ctx); err != nil {
		return nil, connection.Explain(ctx, err).Failure("getting the API server's version")
	}
	findings, err := versions.Findings(contents)
	return releaseFindings(findings), err
}

// releaseFindings returns the findings as those about a joined node.
func releaseFindings(findings []report.Finding) []report.Finding {
	for i := range findings {
		findings[i].Reason, findings[i].Subject, findings[i].RefusesJoin = report.ReleaseMismatch, "release", false
	}
	return findings
}

func newWarning(reason report.Reason, subject, message string, remedy report.Remedy) report.Finding {
	return report.Finding{
		Severity: report.SeverityWarning, Reason: reason, Subject: subject, Message: message, Remedy: remedy,
	}
}
