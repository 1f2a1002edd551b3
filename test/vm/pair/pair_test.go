// SPDX-License-Identifier: Apache-2.0

//go:build vm

package pair

import (
	"context"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hcp-node-agent/hcp-node-agent/internal/kube"
	"github.com/hcp-node-agent/hcp-node-agent/test/testenv"
	"github.com/hcp-node-agent/hcp-node-agent/test/waittest"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// output runs a command on the machine of a node.
func output(ctx context.Context, t *testing.T, node, command string) string {
	t.Helper()
	out, err := environments[node].Machine.Output(ctx, command)
	must(t, err)
	return out
}

// TestTwoNodes joins two machines at the same time. Their pods, services and network policies work across the nodes,
// also after one node has rebooted, after a restart of NetworkManager, while one node leaves, and after it was
// installed again and has joined again.
func TestTwoNodes(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Hour)
	defer cancel()
	part := func(name string, run func()) {
		began := time.Now()
		t.Logf("== %s", name)
		run()
		t.Logf("== %s: %.0f s", name, time.Since(began).Seconds())
	}
	both := []string{firstNode, secondNode}
	part("join of both at the same time", func() { join(ctx, t, both...) })
	part("traffic", func() { checkTraffic(ctx, t, both...) })
	part("network policy", func() { checkPolicy(ctx, t) })
	part("reboot of one", func() {
		must(t, environments[secondNode].Machine.Reboot(ctx))
		awaitReady(ctx, t, secondNode)
		checkTraffic(ctx, t, both...)
	})
	part("restart of NetworkManager on one", func() {
		output(ctx, t, firstNode, "systemctl restart NetworkManager && nm-online -q -t 300")
		checkTraffic(ctx, t, both...)
	})
	part("leave of one", func() {
		undisturbed := startClient(ctx, t, firstNode)
		output(ctx, t, secondNode, "hcp-node-agent leave")
		deleteNode(ctx, t, secondNode)
		undisturbed()
		checkTraffic(ctx, t, firstNode)
	})
	part("the machine is installed again, and joins again", func() {
		must(t, environments[secondNode].Machine.Restore(ctx, installed))
		join(ctx, t, secondNode)
		checkTraffic(ctx, t, both...)
	})
}

// join joins the machines at the same time.
func join(ctx context.Context, t *testing.T, nodes ...string) {
	t.Helper()
	var joining sync.WaitGroup
	for _, node := range nodes {
		e := environments[node]
		must(t, e.CopyInputs(ctx))
		joining.Go(func() {
			result, err := e.Machine.Run(ctx, testenv.JoinCommand)
			t.Logf("%s:\n%s%s", node, result.Stdout, result.Stderr)
			if err != nil || result.ExitCode != 0 {
				t.Errorf("the join of %s: exit code %d, %v", node, result.ExitCode, err)
			}
		})
	}
	joining.Wait()
	if t.Failed() {
		t.FailNow()
	}
}

// awaitReady waits until a Node is Ready in the present boot of its machine.
func awaitReady(ctx context.Context, t *testing.T, name string) {
	t.Helper()
	boot := output(ctx, t, name, "cat /proc/sys/kernel/random/boot_id")
	waittest.Until(t, "waiting for Node "+name+" to be Ready in boot "+boot, func() (any, bool) {
		node, err := environments[name].Client.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err, false
		}
		return node.Status.Conditions, node.Status.NodeInfo.BootID == boot && kube.IsReady(node)
	})
}

// deleteNode deletes a Node and waits until its pods are deleted, too.
func deleteNode(ctx context.Context, t *testing.T, name string) {
	t.Helper()
	client := environments[name].Client.CoreV1()
	must(t, client.Nodes().Delete(ctx, name, metav1.DeleteOptions{}))
	waittest.Until(t, "waiting for the pods of the deleted Node to be deleted", func() (any, bool) {
		list, err := client.Pods(corev1.NamespaceAll).List(ctx, metav1.ListOptions{FieldSelector: "spec.nodeName=" + name})
		if err != nil {
			return err, false
		}
		return len(list.Items), len(list.Items) == 0
	})
}

// awaitPod returns the pod of a workload on a node when it is Ready.
func awaitPod(ctx context.Context, t *testing.T, workload, node string) corev1.Pod {
	t.Helper()
	var found corev1.Pod
	waittest.Until(t, "waiting for the pod of "+workload+" on "+node+" to be Ready", func() (any, bool) {
		list, err := environments[node].Client.CoreV1().Pods("default").List(ctx, metav1.ListOptions{
			LabelSelector: "app=" + workload, FieldSelector: "spec.nodeName=" + node,
		})
		if err != nil {
			return err, false
		}
		for _, pod := range list.Items {
			for _, c := range pod.Status.Conditions {
				if pod.DeletionTimestamp == nil && c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue {
					found = pod
					return nil, true
				}
			}
		}
		return fmt.Sprint(list.Items), false
	})
	return found
}

// get requests a URL in the client pod of a node.
func get(ctx context.Context, pod, url string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	return network.Kubectl(ctx, "", "exec", pod, "--", "/usr/bin/workload", "get", url)
}

// checkTraffic checks that the client of each node reaches the server of each node, and both through the Service.
func checkTraffic(ctx context.Context, t *testing.T, nodes ...string) {
	t.Helper()
	servers := map[string]corev1.Pod{}
	for _, node := range nodes {
		servers[node] = awaitPod(ctx, t, "server", node)
	}
	for _, from := range nodes {
		client := awaitPod(ctx, t, "client", from).Name
		for _, to := range nodes {
			for _, address := range servers[to].Status.PodIPs { // one per family
				awaitResponse(ctx, t, from+" to "+to, client, "http://"+net.JoinHostPort(address.IP, "8080"), servers[to].Name)
			}
			// The Service selects one of its servers for each request.
			awaitResponse(ctx, t, from+" to the Service, "+to, client, "http://"+net.JoinHostPort(network.Service, "80"),
				servers[to].Name)
		}
	}
}

// awaitResponse requests a URL until a server responds. OVN programs a Service after its pods are Ready, and ovnkube
// detects a br-ex that NetworkManager has created again only at its next periodic check.
func awaitResponse(ctx context.Context, t *testing.T, what, client, url, server string) {
	t.Helper()
	waittest.Until(t, "waiting for the response of "+server+": "+what, func() (any, bool) {
		got, err := get(ctx, client, url)
		if err != nil {
			return err, false
		}
		return got, strings.Contains(got+"\n", "hello from pod "+server+"\n")
	})
	t.Logf("%-36s ok: %s", what, server)
}

// checkPolicy checks that a NetworkPolicy applies across the nodes: the server accepts only the pods that it names.
func checkPolicy(ctx context.Context, t *testing.T) {
	t.Helper()
	policies := environments[firstNode].Client.NetworkingV1().NetworkPolicies("default")
	apply := func(app string) {
		t.Helper()
		policy := &networkingv1.NetworkPolicy{
			ObjectMeta: metav1.ObjectMeta{Name: "server"},
			Spec: networkingv1.NetworkPolicySpec{
				PodSelector: metav1.LabelSelector{MatchLabels: map[string]string{"app": "server"}},
				Ingress: []networkingv1.NetworkPolicyIngressRule{{From: []networkingv1.NetworkPolicyPeer{{
					PodSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}},
				}}}},
			},
		}
		_, err := policies.Create(ctx, policy, metav1.CreateOptions{})
		must(t, err)
	}
	remove := func() { must(t, policies.Delete(ctx, "server", metav1.DeleteOptions{})) }
	client := awaitPod(ctx, t, "client", firstNode).Name
	server := awaitPod(ctx, t, "server", secondNode)
	url := "http://" + net.JoinHostPort(server.Status.PodIP, "8080")
	apply("nobody")
	waittest.Until(t, "waiting until the NetworkPolicy refuses "+client, func() (any, bool) {
		got, err := get(ctx, client, url)
		return got, err != nil
	})
	remove()
	awaitResponse(ctx, t, "without the policy", client, url, server.Name)
	apply("client")
	awaitResponse(ctx, t, "permitted by the policy", client, url, server.Name)
	remove()
}

// startClient requests the server of a node from the client of the same node until the returned function is called,
// which checks that all requests were answered.
func startClient(ctx context.Context, t *testing.T, node string) (stop func()) {
	t.Helper()
	client := awaitPod(ctx, t, "client", node).Name
	url := "http://" + net.JoinHostPort(awaitPod(ctx, t, "server", node).Status.PodIP, "8080")
	stopped, ended := make(chan struct{}), make(chan error, 1)
	sent := 0
	go func() {
		for {
			select {
			case <-stopped:
				ended <- nil
				return
			default:
			}
			if got, err := get(ctx, client, url); err != nil {
				ended <- fmt.Errorf("request %d: %w: %s", sent, err, got)
				return
			}
			sent++
		}
	}()
	return func() {
		t.Helper()
		close(stopped)
		must(t, <-ended)
		t.Logf("the pods of %s: %d requests answered meanwhile", node, sent)
	}
}
