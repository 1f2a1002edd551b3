// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"
	"net"
	"net/url"
	"slices"
	"strings"

	"golang.org/x/net/http/httpproxy"
	corev1 "k8s.io/api/core/v1"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/transport"
)

// konnectivityAgent is the name of the DaemonSet's container that opens the tunnel to the hosted control plane.
const konnectivityAgent = "konnectivity-agent"

// konnectivity is how the node's konnectivity agent connects to its server.
type konnectivity struct {
	server *url.URL
	proxy  httpproxy.Config
}

// CheckKonnectivity connects to the konnectivity server as the node's konnectivity agent does. It returns the
// address, "" if the node has no such pod, and a finding if the server is unreachable: the Node is then
// Ready, but the API server reaches neither kubelet nor pods.
func (n *Node) CheckKonnectivity(ctx context.Context) (address string, found []report.Finding, err error) {
	pods, err := n.podsAtVersion(ctx, "0")
	if err != nil {
		return "", nil, err
	}
	for _, pod := range pods {
		if k, isAgent := konnectivityOf(pod); isAgent {
			return k.server.Host, konnectivityFindings(k, transport.Reach(ctx, k.server, k.proxy.ProxyFunc())), nil
		}
	}
	return "", nil, nil
}

// konnectivityOf returns the server and the proxy in the arguments and the environment of a konnectivity agent. It
// reports false for other pods.
func konnectivityOf(pod *corev1.Pod) (konnectivity, bool) {
	for _, container := range pod.Spec.Containers {
		words := slices.Concat(container.Command, container.Args)
		host, port := flagValue(words, "--proxy-server-host"), flagValue(words, "--proxy-server-port")
		if container.Name != konnectivityAgent || host == "" || port == "" {
			continue
		}
		k := konnectivity{server: &url.URL{Scheme: "https", Host: net.JoinHostPort(host, port)}}
		for _, variable := range container.Env {
			switch variable.Name {
			case "HTTPS_PROXY":
				k.proxy.HTTPSProxy = variable.Value
			case "NO_PROXY":
				k.proxy.NoProxy = variable.Value
			}
		}
		return k, true
	}
	return konnectivity{}, false
}

// flagValue returns the value of a flag in the form "FLAG VALUE" or "FLAG=VALUE".
func flagValue(words []string, flag string) string {
	for i, word := range words {
		if value, found := strings.CutPrefix(word, flag+"="); found {
			return value
		}
		if word == flag && i+1 < len(words) {
			return words[i+1]
		}
	}
	return ""
}

func konnectivityFindings(k konnectivity, failed *transport.Error) []report.Finding {
	if failed == nil {
		return nil
	}
	return []report.Finding{{
		Severity: report.SeverityWarning,
		Message: "the konnectivity server is unreachable: " + failed.Message +
			"; oc logs, oc exec, oc port-forward, webhooks and aggregated APIs fail",
		Remedy:  "# allow connections of this host to " + report.Remedy(k.server.Host) + " in firewalls\n" + failed.Remedy,
		Subject: "the konnectivity server",
	}}
}
