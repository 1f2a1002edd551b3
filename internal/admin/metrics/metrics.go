// SPDX-License-Identifier: Apache-2.0

// Package metrics exports the metrics of the controller in a hosted cluster: the state of the nodes, rollouts and user
// data, read from the cache at each scrape, and what the controllers and the publisher count.
package metrics

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/hcp-node-agent/hcp-node-agent/internal/approver"
)

// Descriptions of the metrics.
var (
	enrollmentsDesc = describe("enrollments", "Number of NodeEnrollments.", "nodepool", "phase")
	nodesDesc       = describe("nodes", "Number of nodes that have joined, by the release that they report.",
		"nodepool", "release")
	outdatedDesc = describe("outdated_nodes",
		"Number of nodes whose configuration differs from that of their NodePool.", "nodepool")
	waitingJoinsDesc = describe("waiting_joins",
		"Number of NodeEnrollments whose join token is in a CSR and is not recorded as used.", "nodepool")
	certificateDesc = describe("node_certificate_expiration_timestamp_seconds",
		"Unix time at which the first certificate of a node expires.", "nodepool", "node")
	reportDesc = describe("node_last_report_timestamp_seconds", "Unix time of the last report of the agent of a node.",
		"nodepool", "node")

	lostNodeDesc = describe("lost_node_exists", "Whether a Node exists that was removed as lost.", "node")

	rolloutNodesDesc = describe("rollout_nodes", "Number of nodes of a NodePool with a NodeRollout that have joined.",
		"nodepool")
	rolloutUpdatedDesc = describe("rollout_updated_nodes", "Number of nodes with the current configuration.",
		"nodepool")
	rolloutUnavailableDesc = describe("rollout_unavailable_nodes",
		"Number of nodes that are not Ready, cordoned, or have a slot.", "nodepool")
	rolloutFailedDesc = describe("rollout_failed_nodes",
		"Number of nodes whose upgrade to the current configuration failed.", "nodepool")
	rolloutMaxFailuresDesc = describe("rollout_max_failures",
		"Number of nodes whose upgrade may fail before the rollout stops.", "nodepool")
	rolloutPausedDesc = describe("rollout_paused",
		"Whether the NodeRollout, its NodePool or a closed maintenance window pauses the rollout.", "nodepool", "cause")
	rolloutSlotsDesc      = describe("rollout_slots", "Number of nodes that may be upgraded now.", "nodepool")
	rolloutOldestSlotDesc = describe("rollout_oldest_slot_timestamp_seconds",
		"Unix time at which the oldest slot was given.", "nodepool")

	remediatedDesc = describe("remediated_nodes",
		"Number of nodes that are remediated, by the NodeRemediation of their NodePool.", "nodepool")
	remediationUnhealthyDesc = describe("remediation_unhealthy_nodes",
		"Number of nodes of a NodePool with a NodeRemediation that are unresponsive, or deleted by it.", "nodepool")
	remediationBlockedDesc = describe("remediation_blocked",
		"Whether unresponsive nodes are not remediated, for a reason that can be permanent.", "nodepool")

	userDataExpiryDesc = describe("user_data_expiration_timestamp_seconds",
		"Unix time at which the published user data expires.", "nodepool")
	userDataProblemDesc = describe("user_data_problem", "Whether a problem prevents the publication of newer user data.",
		"nodepool")

	fleetDescs = []*prometheus.Desc{
		enrollmentsDesc, nodesDesc, outdatedDesc, waitingJoinsDesc, certificateDesc, reportDesc,
		lostNodeDesc,
		rolloutNodesDesc, rolloutUpdatedDesc, rolloutUnavailableDesc, rolloutFailedDesc, rolloutMaxFailuresDesc,
		rolloutPausedDesc, rolloutSlotsDesc, rolloutOldestSlotDesc, userDataExpiryDesc, userDataProblemDesc,
		remediatedDesc, remediationUnhealthyDesc, remediationBlockedDesc,
	}
)

func describe(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc(prefix+name, help, labels, nil)
}

const prefix = "hcp_node_admin_"

var (
	csrDecisions = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: prefix + "csr_decisions_total",
		Help: "Number of decisions on CSRs. A repeated decision for the same reason is counted once.",
	}, []string{"outcome"})
	publishedTimes = prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: prefix + "user_data_published_timestamp_seconds",
		Help: "Unix time of the last successful publication of the user data of a NodePool.",
	}, []string{"nodepool"})
	fleetMetrics = &fleetCollector{}
)

// RecordPublished exports the time of the last successful publication of the user data of a NodePool. The NodePool ""
// is the list of all. The zero time ends the time series.
func RecordPublished(nodePool string, at time.Time) {
	if at.IsZero() {
		publishedTimes.DeleteLabelValues(nodePool)
		return
	}
	publishedTimes.WithLabelValues(nodePool).Set(float64(at.Unix()))
}

// register registers the metrics once, although a process can have several caches.
var register = sync.OnceFunc(func() {
	ctrlmetrics.Registry.MustRegister(csrDecisions, publishedTimes, fleetMetrics)
	for _, outcome := range []approver.Outcome{approver.Approved, approver.Refused, approver.Ignored, approver.Warning} {
		csrDecisions.WithLabelValues(string(outcome)) // 0, which a rate needs
	}
})

// CountDecision counts a decision on a CSR.
func CountDecision(decision approver.Decision) {
	csrDecisions.WithLabelValues(string(decision.Outcome)).Inc()
}

// fleetCollector exports the state of the objects in a cache, the same in every replica.
type fleetCollector struct {
	reader atomic.Pointer[client.Reader]
}

// Export adds the metrics to the registry that a manager serves. The state of the objects is read from a cache, that of
// the last call.
func Export(cache client.Reader) {
	register()
	fleetMetrics.reader.Store(&cache)
}

// Describe sends the descriptions of all metrics.
func (*fleetCollector) Describe(descs chan<- *prometheus.Desc) {
	for _, desc := range fleetDescs {
		descs <- desc
	}
}

// collectTimeout limits how long a scrape waits for the cache, which is not synchronized at first.
const collectTimeout = 5 * time.Second

// Collect reads the cache. A cache that cannot be read fails the scrape.
func (c *fleetCollector) Collect(samples chan<- prometheus.Metric) {
	reader := c.reader.Load()
	if reader == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), collectTimeout)
	defer cancel()
	s := &scrape{reader: *reader, samples: samples, now: time.Now()}
	if err := errors.Join(s.addEnrollments(ctx), s.addLostNodes(ctx), s.addUserDataAndRollouts(ctx),
		s.addRemediations(ctx)); err != nil {
		samples <- prometheus.NewInvalidMetric(enrollmentsDesc, err)
	}
}
