// SPDX-License-Identifier: Apache-2.0

//go:build vm

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hcp-node-agent/hcp-node-agent/test/netns"
	"github.com/hcp-node-agent/hcp-node-agent/test/testenv"
	"github.com/hcp-node-agent/hcp-node-agent/test/vm/ovn"
	"github.com/hcp-node-agent/hcp-node-agent/test/waittest"
)

// outsidePort is the port of the server of checkTraffic outside the cluster.
const outsidePort = "8088"

// awaitPods waits until the pods of OVN-Kubernetes and of the workloads are Ready. After a
// reboot, the reported status can still be from before.
func awaitPods(ctx context.Context, t *testing.T) {
	t.Helper()
	for _, name := range []string{ovn.Namespace + "/ovnkube-node", "default/server", "default/client"} {
		space, app, _ := strings.Cut(name, "/")
		waittest.Until(t, "waiting for the pod of "+name+" to be Ready", func() (any, bool) {
			list, err := environment.Client.CoreV1().Pods(space).List(ctx, metav1.ListOptions{LabelSelector: "app=" + app})
			if err != nil {
				return err, false
			}
			var seen []string
			for _, pod := range list.Items {
				seen = append(seen, pod.Name+": "+pod.Status.String())
			}
			return seen, len(list.Items) == 1 && isReady(list.Items[0])
		})
	}
}

func isReady(pod corev1.Pod) bool {
	return pod.DeletionTimestamp == nil && slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

// checkGatewayIsBridge checks that OVN-Kubernetes uses br-ex as the node's gateway.
func checkGatewayIsBridge(ctx context.Context, t *testing.T) {
	t.Helper()
	node, err := environment.Client.CoreV1().Nodes().Get(ctx, testenv.NodeName, metav1.GetOptions{})
	must(t, err)
	var gateway struct {
		Default struct {
			InterfaceID string `json:"interface-id"`
			MAC         string `json:"mac-address"`
			IP          string `json:"ip-address"`
			NextHop     string `json:"next-hop"`
		} `json:"default"`
	}
	must(t, json.Unmarshal([]byte(node.Annotations["k8s.ovn.org/l3-gateway-config"]), &gateway))
	got := gateway.Default
	want := got
	want.InterfaceID = "br-ex_" + testenv.NodeName
	want.MAC = mustOutput(ctx, t, "cat /sys/class/net/br-ex/address")
	want.IP = mustOutput(ctx, t, `ip -4 -o address show br-ex | awk '!/169\.254\./ { print $4 }'`)
	want.NextHop = networkPlugin.HostAddress()
	if got != want {
		t.Errorf("the node's gateway is %+v, want %+v", got, want)
	}
	ports := mustOutput(ctx, t,
		"ovs-vsctl list-ports br-ex; ovs-vsctl list-ports br-int | grep -c '^patch-br-int-to-br-ex'")
	if ports != "eth0\npatch-br-ex_"+testenv.NodeName+"-to-br-int\n1" {
		t.Errorf("the ports of br-ex, and the number of patch ports of br-int: %q", ports)
	}
}

// checkTraffic checks each traffic direction of a workload.
func checkTraffic(ctx context.Context, t *testing.T) {
	t.Helper()
	address := nodeAddress(ctx, t)
	pods, err := environment.Client.CoreV1().Pods("default").List(ctx, metav1.ListOptions{LabelSelector: "app=server"})
	must(t, err)
	if len(pods.Items) != 1 {
		t.Fatalf("%d pods of the server", len(pods.Items))
	}
	server := pods.Items[0]
	hello := "hello from pod " + server.Name
	stop := serveOutside(t)
	defer stop()

	pod := func(url string) func(context.Context) (string, error) {
		return func(ctx context.Context) (string, error) {
			return networkPlugin.Kubectl(ctx, "", "exec", "ds/client", "--", "/usr/bin/workload", "get", url)
		}
	}
	machine := func(url string) func(context.Context) (string, error) {
		return func(ctx context.Context) (string, error) {
			return environment.Machine.Output(ctx, "curl -sS --max-time 20 "+url)
		}
	}
	for _, c := range []struct {
		what string
		get  func(context.Context) (string, error)
		want string
	}{
		{"pod to pod", pod("http://" + server.Status.PodIP + ":8080"), hello},
		{"pod to service", pod("http://" + networkPlugin.Service), hello},
		{"pod to API", pod("https://172.31.0.1/version"), environment.ControlPlane.KubernetesVersion},
		{
			"pod to outside by name, as the node", pod("http://registry." + domain() + ":" + outsidePort),
			"from " + address + "\n",
		},
		{"host to pod", machine("http://" + server.Status.PodIP + ":8080"), hello},
		{"host to service", machine("http://" + networkPlugin.Service), hello},
		{
			"outside to NodePort",
			func(context.Context) (string, error) { return getOutside("http://" + address + ":" + ovn.NodePort) }, hello,
		},
		{"logs", func(ctx context.Context) (string, error) { return networkPlugin.Kubectl(ctx, "", "logs", server.Name) }, hello},
	} {
		var got string
		// OVN programs a service after the pod is Ready, and ovnkube detects a br-ex that
		// NetworkManager has created again only at its next periodic check.
		waittest.Until(t, fmt.Sprintf("waiting for %q: %s", c.want, c.what), func() (any, bool) {
			ctx, cancel := context.WithTimeout(ctx, time.Minute)
			defer cancel()
			var err error
			if got, err = c.get(ctx); err != nil {
				return err, false
			}
			return got, strings.Contains(got+"\n", c.want)
		})
		line, _, _ := strings.Cut(got, "\n")
		t.Logf("%-36s ok: %s", c.what, line)
	}
}

// nodeAddress returns the InternalIP of the Node.
func nodeAddress(ctx context.Context, t *testing.T) string {
	t.Helper()
	node, err := environment.Client.CoreV1().Nodes().Get(ctx, testenv.NodeName, metav1.GetOptions{})
	must(t, err)
	for _, a := range node.Status.Addresses {
		if a.Type == corev1.NodeInternalIP {
			return a.Address
		}
	}
	t.Fatal("the Node has no InternalIP")
	return ""
}

func domain() string { return environment.ControlPlane.Name + ".example.com" }

// serveOutside runs a server outside the cluster that responds with the address of its client.
func serveOutside(t *testing.T) (stop func()) {
	t.Helper()
	var listener net.Listener
	must(t, netns.Do(environment.ControlPlane.Netns, func() (err error) {
		listener, err = net.Listen("tcp", net.JoinHostPort(networkPlugin.HostAddress(), outsidePort))
		return err
	}))
	server := &http.Server{
		ReadHeaderTimeout: time.Minute,
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			client, _, _ := net.SplitHostPort(r.RemoteAddr)
			fmt.Fprintln(w, "from", client)
		}),
	}
	go func() { _ = server.Serve(listener) }() // until Close
	return func() { _ = server.Close() }
}

// getOutside sends a request from outside the cluster.
func getOutside(url string) (string, error) {
	transport := &http.Transport{
		DisableKeepAlives: true,
		DialContext: func(_ context.Context, network, address string) (conn net.Conn, err error) {
			err = netns.Do(environment.ControlPlane.Netns, func() (err error) {
				conn, err = net.DialTimeout(network, address, 10*time.Second)
				return err
			})
			return conn, err
		},
	}
	client := &http.Client{Transport: transport, Timeout: 20 * time.Second}
	response, err := client.Get(url)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	return string(body), err
}
