package kubelet

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// Node is this machine's Node, looked at with the node's own credential.
type Node struct {
	Name    string
	BootID  string // of this machine; "" leaves open whether the Node tells of this boot
	Machine Machine
	Log     report.Log
	api     *api
}

// OpenNode connects to the API server with kubelet's kubeconfig.
func OpenNode(kubeconfig, name string, proxy Proxy, log report.Log) (*Node, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, report.Fail(report.Failed, "hcp-node-agent join", "reading kubelet's kubeconfig: %w", err)
	}
	connection, err := connect(config, proxy)
	if err != nil {
		return nil, err
	}
	return &Node{Name: name, Log: log, api: connection}, nil
}

// finding is what is not as it should be, and what to do.
type finding struct{ text, remedy string }

func (f finding) failure() error { return report.Fail(report.Failed, f.remedy, "%s", f.text) }

// evidenceEvery is how often the machine and its pods are asked for reasons.
const evidenceEvery = 3 * time.Second

// Ready waits until the Node is Ready, and says meanwhile what it lacks.
func (n *Node) Ready(ctx context.Context) error {
	last := finding{text: "Node " + n.Name + " was never seen", remedy: "systemctl status kubelet"}
	var asked time.Time
	var known evidence
	err := follow(ctx, n.api, n.Log, n.source(), evidenceEvery, func(found map[string]*corev1.Node) (bool, error) {
		node := found[n.Name]
		if node != nil && isReady(node) && n.thisBoot(node) {
			return true, nil
		}
		if time.Since(asked) >= evidenceEvery {
			known, asked = n.evidence(ctx), time.Now()
		}
		last = n.explain(node, known)
		n.Log.Wait(last.text, last.remedy)
		return false, nil
	})
	return timeUp(ctx, err, last.failure())
}

// source is our Node, by name.
func (n *Node) source() source[*corev1.Node] {
	nodes := n.api.client.CoreV1().Nodes()
	return source[*corev1.Node]{
		doing: "watching Node " + n.Name, selector: "metadata.name=" + n.Name,
		list: func(ctx context.Context, options metav1.ListOptions) ([]*corev1.Node, metav1.ListMeta, error) {
			list, err := nodes.List(ctx, options)
			if err != nil {
				return nil, metav1.ListMeta{}, err //nolint:wrapcheck // persist explains it
			}
			return pointers(list.Items), list.ListMeta, nil
		},
		watch: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			return nodes.Watch(ctx, options) //nolint:wrapcheck // follow explains it
		},
	}
}

// thisBoot tells whether the Node's status comes from this machine as it runs
// now: a Node of an earlier join can still say Ready.
func (n *Node) thisBoot(node *corev1.Node) bool {
	return n.BootID == "" || node.Status.NodeInfo.BootID == n.BootID
}

func isReady(node *corev1.Node) bool {
	ready := conditionOf(node, corev1.NodeReady)
	return ready != nil && ready.Status == corev1.ConditionTrue
}

func conditionOf(node *corev1.Node, kind corev1.NodeConditionType) *corev1.NodeCondition {
	for n := range node.Status.Conditions {
		if node.Status.Conditions[n].Type == kind {
			return &node.Status.Conditions[n]
		}
	}
	return nil
}

// pods lists this node's pods.
func (n *Node) pods(ctx context.Context) ([]*corev1.Pod, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	list, err := n.api.client.CoreV1().Pods("").List(ctx, metav1.ListOptions{FieldSelector: "spec.nodeName=" + n.Name})
	if err != nil {
		return nil, fmt.Errorf("listing the pods of this node: %w", err)
	}
	return pointers(list.Items), nil
}
