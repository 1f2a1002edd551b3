// SPDX-License-Identifier: Apache-2.0

//go:build controlplane

package controller

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/hcp-node-agent/hcp-node-agent/internal/api/v1alpha1"
	"github.com/hcp-node-agent/hcp-node-agent/internal/approver"
	"github.com/hcp-node-agent/hcp-node-agent/test/csrtest"
	"github.com/hcp-node-agent/hcp-node-agent/test/loopback"
	"github.com/hcp-node-agent/hcp-node-agent/test/waittest"
)

// A replica without the Lease exports the state of the fleet as the leader does.
func TestControlPlaneMetrics(t *testing.T) {
	leader := &testController{t: t}
	options := leader.options(controllerKubeconfig)
	options.MetricsAddress = loopback.FreeAddress(t)
	m, err := New(options)
	leader.run(m, err)
	approvals := countOf(t, options.MetricsAddress, approver.Approved)
	refusals := countOf(t, options.MetricsAddress, approver.Refused)
	token := enroll(t, "metered")
	csr, _ := csrtest.SubmitWithToken(t, token)
	leader.awaitApproved(csr)
	csr, _ = csrtest.SubmitWithToken(t, token)
	leader.awaitDecision(csr, approver.Refused, "")

	standby := &testController{t: t}
	options = standby.options(controllerKubeconfig)
	options.MetricsAddress = loopback.FreeAddress(t)
	m, err = New(options) // the last manager is the one whose cache is exported
	standby.run(m, err)
	joinPool(t, "metered", "metered-1", "metered-2")
	publish(t, "metered", "new")
	createRollout(t, "metered", v1alpha1.NodeRolloutSpec{})
	awaitRollout(t, "metered", "2 nodes, 0 updated, 1 unavailable, 0 failed, slot of metered-1: "+
		"at most 1 of the nodes may be unavailable")
	reportAs(t, "metered-1", map[string]string{v1alpha1.AnnotationRelease: "4.21.2"})
	wanted := []string{
		`hcp_node_admin_enrollments{nodepool="",phase="Enrolled"} 1`,
		`hcp_node_admin_enrollments{nodepool="metered",phase="Ready"} 2`,
		`hcp_node_admin_nodes{nodepool="metered",release="4.21.2"} 1`,
		`hcp_node_admin_nodes{nodepool="metered",release="unknown"} 1`,
		`hcp_node_admin_outdated_nodes{nodepool="metered"} 2`,
		`hcp_node_admin_rollout_nodes{nodepool="metered"} 2`,
		`hcp_node_admin_rollout_slots{nodepool="metered"} 1`,
		`hcp_node_admin_rollout_oldest_slot_timestamp_seconds{nodepool="metered"} `,
		`hcp_node_admin_user_data_problem{nodepool="metered"} 0`,
		`hcp_node_admin_waiting_joins{nodepool=""} 0`,
		fmt.Sprintf("hcp_node_admin_csr_decisions_total{outcome=\"approved\"} %d\n", approvals+1),
		fmt.Sprintf("hcp_node_admin_csr_decisions_total{outcome=\"refused\"} %d\n", refusals+1),
		`controller_runtime_reconcile_errors_total{controller="csr"} `,
		fmt.Sprintf(`leader_election_master_status{name=%q} `, LeaseName),
	}
	for _, sample := range wanted {
		waittest.UntilText(t, "\n"+sample, func() string { return getMetrics(t, options.MetricsAddress) })
	}
}

// countOf returns how many decisions have an outcome, by the metrics of a server.
func countOf(t *testing.T, address string, outcome approver.Outcome) (count int) {
	t.Helper()
	waittest.Until(t, "waiting for the number of decisions "+string(outcome), func() (any, bool) {
		_, value, _ := strings.Cut(getMetrics(t, address), `csr_decisions_total{outcome="`+string(outcome)+`"} `)
		_, err := fmt.Sscan(value, &count)
		return err, err == nil
	})
	return count
}

// getMetrics returns the metrics of a server, "" if it does not listen yet.
func getMetrics(t *testing.T, address string) string {
	t.Helper()
	response, err := http.Get("http://" + address + "/metrics")
	if err != nil {
		return ""
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
