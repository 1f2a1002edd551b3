// SPDX-License-Identifier: Apache-2.0

// Package dashboard renders the dashboard of the controller, from one description of its panels.
package dashboard

// Title of the dashboard, and its name in addresses.
const (
	title = "hcp-node-agent / Nodes"
	uid   = "hcp-node-admin"
)

type kind int

const (
	stat kind = iota // one number
	graph
	table
)

// A panel shows queries. A stat and a graph have one, a table has one for each column of values.
type panel struct {
	kind    kind
	title   string
	width   uint32 // of 12
	unit    string
	isArea  bool              // graph: the series are stacked
	texts   map[string]string // stat: instead of a value
	noValue string            // stat: instead of a result without samples
	labels  []column          // graph: the legend; table: the first columns
	queries []query
}

// A column shows the label of the result of a query.
type column struct{ label, title string }

type query struct {
	expr     string
	title    string // of the column
	decimals int
}

type row struct {
	title  string
	height uint32 // in units of Grafana's grid
	panels []panel
}

func number(title, expr string) panel {
	return panel{kind: stat, title: title, width: 2, queries: []query{{expr: expr}}}
}

func series(title, unit, label, expr string) panel {
	return panel{
		kind: graph, title: title, width: 6, unit: unit, labels: []column{{label: label}}, queries: []query{{expr: expr}},
	}
}

func areas(title, label, expr string) panel {
	p := series(title, "short", label, expr)
	p.isArea = true
	return p
}

func narrow(p panel) panel {
	p.width = 4
	return p
}

// rows describe the dashboard. Every replica exports the same state of the fleet, so that queries aggregate with max.
// The labels of each result are those of the first "by".
var rows = []row{
	{"Nodes", 4, []panel{
		number("Enrolled nodes", `sum(max by (nodepool, phase) (hcp_node_admin_enrollments))`),
		number("Ready", `sum(max by (nodepool, phase) (hcp_node_admin_enrollments{phase="Ready"}))`),
		number("Failed or degraded",
			`sum(max by (nodepool, phase) (hcp_node_admin_enrollments{phase=~"Failed|Degraded"}))`),
		number("Lost", `sum(max by (nodepool, phase) (hcp_node_admin_enrollments{phase="Lost"}))`),
		number("Not up to date", `sum(max by (nodepool) (hcp_node_admin_outdated_nodes))`),
		number("No report for 30 minutes", `sum(time() - max by (nodepool, node) `+
			`(hcp_node_admin_node_last_report_timestamp_seconds) > bool 30 * 60)`),
	}},
	{"Phases and releases", 8, []panel{
		areas("Nodes by phase", "phase", `sum by (phase) (max by (nodepool, phase) (hcp_node_admin_enrollments)) > 0`),
		areas("Nodes by release", "release", `sum by (release) (max by (nodepool, release) (hcp_node_admin_nodes))`),
	}},
	{"Rollouts", 8, []panel{
		{
			kind: table, title: "Rollouts", width: 12, labels: []column{{"nodepool", "NodePool"}},
			queries: []query{
				{expr: `max by (nodepool) (hcp_node_admin_rollout_nodes)`, title: "Nodes"},
				{expr: `max by (nodepool) (hcp_node_admin_rollout_updated_nodes)`, title: "Updated"},
				{expr: `max by (nodepool) (hcp_node_admin_rollout_unavailable_nodes)`, title: "Unavailable"},
				{expr: `max by (nodepool) (hcp_node_admin_rollout_slots)`, title: "Slots"},
				{expr: `max by (nodepool) (hcp_node_admin_rollout_failed_nodes)`, title: "Failed"},
				{expr: `max by (nodepool) (hcp_node_admin_rollout_paused)`, title: "Paused"},
			},
		},
		series("Nodes with the current configuration", "percentunit", "nodepool",
			`max by (nodepool) (hcp_node_admin_rollout_updated_nodes)`+
				` / (max by (nodepool) (hcp_node_admin_rollout_nodes) > 0)`),
		series("Age of the oldest slot (hours)", "short", "nodepool",
			`(time() - max by (nodepool) (hcp_node_admin_rollout_oldest_slot_timestamp_seconds)) / 3600`),
	}},
	{"Certificates, reports and user data", 8, []panel{
		{
			kind: table, title: "Certificates and reports", width: 6,
			labels: []column{{"node", "Node"}, {"nodepool", "NodePool"}},
			queries: []query{
				{
					expr: `(max by (nodepool, node) (hcp_node_admin_node_certificate_expiration_timestamp_seconds) - time())` +
						` / 86400`,
					title: "Days until a certificate expires", decimals: 1,
				},
				{
					expr:  `(time() - max by (nodepool, node) (hcp_node_admin_node_last_report_timestamp_seconds)) / 60`,
					title: "Minutes since the last report",
				},
			},
		},
		series("Hours until the user data expires", "short", "nodepool",
			`(max by (nodepool) (hcp_node_admin_user_data_expiration_timestamp_seconds) - time()) / 3600`),
	}},
	{"Findings of the agents", 8, []panel{
		areas("Problems and warnings by NodePool", "nodepool",
			`sum by (nodepool) (hcp_node_agent_findings{severity=~"problem|warning"}`+
				` * on (instance) group_left (nodepool) max by (instance, nodepool) (hcp_node_agent_node_info))`),
		{
			kind: table, title: "Nodes with problems and warnings", width: 6,
			labels: []column{{"instance", "Node"}, {"check", "Check"}, {"severity", "Severity"}},
			queries: []query{{
				expr:  `sum by (instance, check, severity) (hcp_node_agent_findings{severity=~"problem|warning"}) > 0`,
				title: "Findings",
			}},
		},
	}},
	{"Controller", 8, []panel{
		{
			kind: stat, title: "Controller", width: 4,
			texts: map[string]string{"0": "no leader", "1": "running"}, noValue: "not running",
			queries: []query{{
				expr: `max(leader_election_master_status{job="hcp-node-admin", name="hcp-node-admin-controller"})`,
			}},
		},
		narrow(series("Decisions on CSRs in one hour", "short", "outcome",
			`sum by (outcome) (increase(hcp_node_admin_csr_decisions_total[1h]))`)),
		narrow(series("Errors per second", "short", "controller",
			`sum by (controller) (rate(controller_runtime_reconcile_errors_total{job="hcp-node-admin"}[5m]))`)),
	}},
}

// refID returns the name of a query in its panel: A, B, ….
func refID(i int) string { return string(rune('A' + i)) }
