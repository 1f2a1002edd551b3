// SPDX-License-Identifier: Apache-2.0

package service

import (
	"context"
	"crypto/x509"
	"fmt"
	"strings"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/bootstrap"
	"github.com/hcp-node-agent/hcp-node-agent/internal/kube"
	"github.com/hcp-node-agent/hcp-node-agent/internal/lists"
	"github.com/hcp-node-agent/hcp-node-agent/internal/node"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/request"
)

// Times of the check of the cluster's CAs. The CAs that the cluster publishes must be unchanged for
// casConfirmation before the service uses them: the cluster reverts a change by others within milliseconds.
const (
	casInterval     = 5 * time.Minute
	casConfirmation = 4 * time.Minute
	// casRemoval is the time for which the cluster must not have published a CA before it is removed.
	casRemoval = 24 * time.Hour
)

// joinAgain is the remedy for CAs that the node does not trust, and for a pull secret that it does not use.
const joinAgain report.Remedy = "hcp-node-agent join --user-data USER_DATA # with current user data"

// observation is a version of what the cluster publishes for its nodes, and the time of its first observation.
type observation struct {
	version string
	since   time.Time
}

// confirm records an observation, and reports whether the version has been unchanged for the time after, thus can be
// used.
func (o *observation) confirm(version string, now time.Time, after time.Duration) bool {
	if version != o.version {
		*o = observation{version: version, since: now}
	}
	return now.Sub(o.since) >= after
}

// caCheck compares the CAs that a cluster publishes with those that its node trusts.
type caCheck struct {
	node         *node.Node
	kubeconfig   []byte // kubelet's
	own          []byte // CAs in PEM that the payload or the agent has put into the kubeconfig
	stateDir     string
	observed     *observation
	confirmAfter time.Duration
	removeAfter  time.Duration
}

func (m *nodeMonitor) caCheck() caCheck {
	return caCheck{
		node:         m.node,
		kubeconfig:   m.kubeconfigContent,
		own:          m.state.APIServerCA,
		stateDir:     m.StateDir,
		observed:     &m.cas,
		confirmAfter: m.interval(casConfirmation),
		removeAfter:  m.interval(casRemoval),
	}
}

// find returns findings about certificate authorities that the node does not trust, those of the API server's
// certificate and those of kubelet's clients, and about those of the API server that the cluster does not have any
// more.
func (c caCheck) find(ctx context.Context) ([]report.Finding, error) {
	found, err := c.node.Host.CheckClientCAs(ctx, node.ClientCAPath, time.Now())
	if err != nil {
		return nil, err
	}
	missing, obsolete, err := c.compare(ctx, time.Now())
	if err != nil {
		return found, err
	}
	const subject = "the cluster's CAs"
	if len(missing) > 0 {
		text := fmt.Sprintf("the cluster has a new CA that this node does not trust (%s): the node will lose its "+
			"connection when the API server uses a certificate of that CA", describeCAs(missing))
		found = append(found, newWarning(report.ClusterCANotTrusted, subject, text, joinAgain))
	}
	if len(obsolete) > 0 {
		text := fmt.Sprintf("this node trusts a CA that the cluster has not published for %s (%s): who has its key can "+
			"impersonate the API server", casRemoval, describeCAs(obsolete))
		found = append(found, newWarning(report.ClusterCAObsolete, subject, text, joinAgain))
	}
	return found, nil
}

func describeCAs(certificates []*x509.Certificate) string {
	return strings.Join(lists.Map(certificates, func(ca *x509.Certificate) string {
		return fmt.Sprintf("%q of %s", ca.Subject, report.Timestamp(ca.NotBefore))
	}), "; ")
}

// compare returns the CAs of the cluster that kubelet's kubeconfig does not contain, and the CAs to remove from the
// kubeconfig. Both lists are empty until they are confirmed.
func (c caCheck) compare(ctx context.Context, now time.Time) (missing, obsolete []*x509.Certificate, err error) {
	cluster, err := kube.ParseCluster(c.kubeconfig)
	if err != nil {
		return nil, nil, err
	}
	difference, err := c.node.CompareCAs(ctx, cluster)
	if err != nil {
		return nil, nil, err
	}
	trusted, err := kube.ParsePEMCertificates(cluster.CA)
	if err != nil {
		return nil, nil, err
	}
	gone, err := c.recordGone(trusted, difference, now)
	if err != nil || !c.observed.confirm(difference.Version, now, c.confirmAfter) {
		return nil, nil, err
	}
	own, _ := kube.ParsePEMCertificates(c.own) // none in the state of an interrupted join
	return difference.Missing, removableCAs(trusted, own, gone), nil
}

// repair adds the new CAs of the cluster to those with which kubelet verifies the API server. The API
// server has sent them to the node over a connection that the current CAs verify. It fails if the published
// CAs have changed since the check.
func (c caCheck) repair(ctx context.Context, options request.Options) (string, error) {
	missing, _, err := c.compare(ctx, time.Now())
	if err != nil {
		return "", err
	}
	if len(missing) == 0 {
		return "", report.Fail(report.Failed, joinAgain,
			"the CAs that the cluster publishes have changed since the check; none was added")
	}
	err = bootstrap.TrustCAs(ctx, options, kube.EncodeCertificates(missing))
	return "kubelet trusts the new CAs of the cluster", err
}
