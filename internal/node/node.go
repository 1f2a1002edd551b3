// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/hcp-node-agent/hcp-node-agent/internal/kube"
	"github.com/hcp-node-agent/hcp-node-agent/internal/lists"
	"github.com/hcp-node-agent/hcp-node-agent/internal/node/servicelog"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// Node is this host's Node, accessed with the node's own credential.
type Node struct {
	Name   string
	BootID string // of this host; "" if the Node's status may be of any boot
	// Registered means that the Node existed before. If it no longer exists, it
	// was deleted.
	Registered bool
	// RequestedTaints are the taints, as KEY[=VALUE]:EFFECT, with which the
	// administrator lets kubelet register the Node. They are not problems.
	RequestedTaints []string
	// ReportedSince is the time before which the Node's status is that of an earlier kubelet process.
	ReportedSince time.Time
	// AllowCordon means that a cordon by an administrator is no problem.
	AllowCordon bool
	Host        Host
	Log         report.Log
	Conn        *kube.Conn

	quietPeriod time.Duration
}

// OpenNode returns a Node that uses kubelet's kubeconfig. It sends no request.
func OpenNode(kubeconfig, name string, proxy kube.Proxy, log report.Log) (*Node, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, report.Fail(report.Failed, "hcp-node-agent join", "reading kubelet's kubeconfig: %w", err)
	}
	connection, err := kube.Connect(config, proxy)
	if err != nil {
		return nil, err
	}
	return &Node{
		Name:        name,
		Log:         log,
		Conn:        connection,
		quietPeriod: defaultQuietPeriod,
	}, nil
}

// evidenceInterval is the minimum interval between two searches for causes on the
// host and in its pods.
const evidenceInterval = 3 * time.Second

// searches are the searches for causes while a wait lasts. They use at most a fifth of the time, because they need
// the processor with which kubelet and the pods start.
type searches struct{ next time.Time }

// isDue reports whether the next search may begin.
func (s *searches) isDue() bool { return !time.Now().Before(s.next) }

// run runs a search.
func (s *searches) run(search func()) {
	began := time.Now()
	search()
	s.next = time.Now().Add(max(evidenceInterval, 4*time.Since(began)))
}

// Findings returns all problems of this host as a node, the most direct cause
// first. It is empty when the Node is Ready and schedulable, and the pods that
// the host itself needs are running. An API server that does not respond is a
// finding too. The error is that of ctx.
func (n *Node) Findings(ctx context.Context) ([]report.Finding, error) {
	node, err := n.get(ctx)
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil:
		problem := n.Conn.Explain(ctx, err)
		m := n.Host.gatherFacts(ctx)
		return append(slices.Concat(lists.Map(m.units, unitFinding), runtimeFinding(m)), report.Finding{
			Severity:   report.SeverityProblem,
			Message:    "getting Node " + n.Name + ": " + problem.Message,
			Remedy:     problem.Remedy,
			Reason:     report.APIServerUnreachable,
			Subject:    "the API server",
			Incomplete: true,
		}), nil
	}
	if node != nil && len(diagnose(facts{node: node, bootID: n.BootID})) == 0 {
		return n.readyFindings(ctx, node), nil
	}
	known := n.gatherFacts(ctx, node)
	return append(diagnose(known), n.unknownPodsFindings(ctx, known)...), nil
}

// unknownPodsFindings returns a finding if the node's pods could not be listed, because
// one of them can be the cause of the other findings.
func (n *Node) unknownPodsFindings(ctx context.Context, known facts) []report.Finding {
	if known.podsErr == nil {
		return nil
	}
	problem := n.Conn.Explain(ctx, known.podsErr)
	return []report.Finding{{
		Severity:   report.SeverityWarning,
		Message:    "the status of this node's pods is unknown: " + problem.Message,
		Remedy:     problem.Remedy,
		Reason:     report.PodStatusUnknown,
		Subject:    "the pods of this node",
		Incomplete: true,
	}}
}

// WaitReady waits until the Node is Ready, and logs meanwhile why it is not.
func (n *Node) WaitReady(ctx context.Context) error {
	reporter := n.newProgressReporter()
	var search searches
	var known facts
	err := kube.Follow(ctx, n.Conn, n.Log, n.source(), evidenceInterval,
		func(found map[string]*corev1.Node) (bool, error) {
			node := found[n.Name]
			isReady := node != nil && kube.IsReady(node) && n.isCurrentBoot(node)
			if isReady && n.isReported(node) {
				return true, nil
			}
			if search.isDue() {
				search.run(func() { known = n.gatherFacts(ctx, node) })
			}
			if ctx.Err() != nil {
				return false, ctx.Err()
			}
			known.node, known.isStale = node, isReady
			awaited, prefix := "Node "+n.Name+" to become Ready", "Node "+n.Name+" is not Ready"
			if node == nil {
				awaited, prefix = "kubelet to register Node "+n.Name, "kubelet has not registered Node "+n.Name
			}
			reporter.update(awaited, prefix, diagnose(known), false)
			return false, nil
		})
	return reporter.waitError(ctx, err)
}

// source selects this host's Node by name.
func (n *Node) source() kube.Source[*corev1.Node] {
	return n.Conn.Client.Nodes().Source("watching Node "+n.Name, "metadata.name="+n.Name)
}

func (n *Node) isCurrentBoot(node *corev1.Node) bool {
	return facts{node: node, bootID: n.BootID}.isCurrentBoot()
}

// isReported reports whether the running kubelet process has reported the status. It does so when it
// starts. Times of the API have a resolution of one second.
func (n *Node) isReported(node *corev1.Node) bool {
	return slices.ContainsFunc(node.Status.Conditions, func(c corev1.NodeCondition) bool {
		return c.Type == corev1.NodeReady && !c.LastHeartbeatTime.Time.Before(n.ReportedSince.Truncate(time.Second))
	})
}

// pods lists this node's pods.
func (n *Node) pods(ctx context.Context) ([]*corev1.Pod, error) { return n.podsAtVersion(ctx, "") }

// podsAtVersion lists this node's pods at a resource version. "0" reads them from the
// API server's cache, which can be some seconds old and does not load etcd.
func (n *Node) podsAtVersion(ctx context.Context, version string) ([]*corev1.Pod, error) {
	pods := n.Conn.Client.Pods("")
	list, err := pods.List(ctx, metav1.ListOptions{
		FieldSelector: "spec.nodeName=" + n.Name, ResourceVersion: version,
	})
	if err != nil {
		return nil, fmt.Errorf("listing the pods of this node: %w", err)
	}
	return pods.Items(list), nil
}

// Exists reports whether the Node exists in the cluster.
func (n *Node) Exists(ctx context.Context) (bool, error) {
	node, err := n.get(ctx)
	if err != nil {
		return false, fmt.Errorf("getting Node %s: %w", n.Name, err)
	}
	return node != nil, nil
}

// get returns the Node, or nil if it does not exist.
func (n *Node) get(ctx context.Context) (*corev1.Node, error) {
	return n.Conn.Client.Nodes().Find(ctx, n.Name)
}

// Status describes this host's Node in the cluster.
type Status struct {
	Name          string   `json:"name" doc:"name of the Node"`
	Ready         bool     `json:"ready" doc:"whether the Node is Ready"`
	Reason        string   `json:"reason,omitempty" doc:"why the Node is not Ready"`
	Unschedulable bool     `json:"unschedulable" doc:"whether the Node is cordoned"`
	Taints        []string `json:"taints,omitempty" doc:"taints as KEY[=VALUE]:EFFECT"`
	Kubelet       string   `json:"kubeletVersion,omitempty" doc:"version of kubelet"`
	Addresses     []string `json:"addresses,omitempty" doc:"addresses of the Node"`
}

// Status gets the Node's status with one request.
func (n *Node) Status(ctx context.Context) (Status, error) {
	node, err := n.Conn.Client.Nodes().Get(ctx, n.Name)
	if err != nil {
		problem := n.Conn.Explain(ctx, err)
		return Status{}, report.Fail(report.Failed, problem.Remedy, "getting Node %s: %s", n.Name,
			problem.Message)
	}
	return newStatus(node), nil
}

func newStatus(node *corev1.Node) Status {
	status := Status{
		Name:          node.Name,
		Ready:         kube.IsReady(node),
		Unschedulable: node.Spec.Unschedulable,
		Kubelet:       node.Status.NodeInfo.KubeletVersion,
	}
	if ready := kube.NodeCondition(node, corev1.NodeReady); ready != nil && !status.Ready {
		status.Reason = ready.Reason + ": " + servicelog.Shorten(ready.Message, servicelog.MaxMessage)
	}
	for _, taint := range node.Spec.Taints {
		status.Taints = append(status.Taints, taint.ToString())
	}
	for _, address := range node.Status.Addresses {
		status.Addresses = append(status.Addresses, address.Address)
	}
	return status
}

// String returns the state of the Node in one line, without its name.
func (s Status) String() string {
	text := "not Ready (" + s.Reason + ")"
	if s.Ready {
		text = "Ready"
	}
	switch {
	case s.Unschedulable:
		text += ", cordoned"
	case len(s.Taints) > 0:
		text += ", tainted " + strings.Join(s.Taints, " ")
	case s.Ready:
		text += " and schedulable"
	}
	return text
}
