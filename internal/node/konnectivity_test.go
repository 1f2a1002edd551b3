// SPDX-License-Identifier: Apache-2.0

package node

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/hcp-node-agent/hcp-node-agent/internal/transport"
)

// The arguments are those of HyperShift's DaemonSet (hostedclusterconfigoperator, konnectivity/reconcile.go).
func TestKonnectivityOf(t *testing.T) {
	agent := corev1.Container{
		Name: "konnectivity-agent", Command: []string{"/usr/bin/proxy-agent"},
		Args: []string{"--logtostderr=true", "--proxy-server-host", "konnectivity.example.com", "--proxy-server-port", "443"},
		Env: []corev1.EnvVar{
			{Name: "HTTPS_PROXY", Value: "http://proxy.example.com:3128"}, {Name: "NO_PROXY", Value: ".example.org"},
		},
	}
	assigned, without := agent, agent
	assigned.Args = []string{"--proxy-server-host=fd00::7", "--proxy-server-port=30443"}
	without.Args = []string{"--proxy-server-host"}
	for name, test := range map[string]struct {
		container corev1.Container
		want      string
	}{
		"separate words":    {agent, "https://konnectivity.example.com:443"},
		"assigned, IPv6":    {assigned, "https://[fd00::7]:30443"},
		"no value":          {without, ""},
		"another container": {corev1.Container{Name: "dns", Args: agent.Args}, ""},
	} {
		k, found := konnectivityOf(&corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{test.container}}})
		if found != (test.want != "") || found && k.server.String() != test.want {
			t.Errorf("%s: konnectivityOf() = %v, %t, want %q", name, k.server, found, test.want)
		}
	}
	k, _ := konnectivityOf(&corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{agent}}})
	if proxy, err := k.proxy.ProxyFunc()(k.server); err != nil || proxy == nil || proxy.Host != "proxy.example.com:3128" {
		t.Errorf("the proxy is %v, %v", proxy, err)
	}
	found := konnectivityFindings(k, &transport.Error{Message: "connecting timed out", Remedy: "curl https://host"})
	if len(found) != 1 || !strings.Contains(found[0].Message, "connecting timed out; oc logs") {
		t.Errorf("konnectivityFindings() = %v", found)
	}
	if found := konnectivityFindings(k, nil); len(found) > 0 {
		t.Errorf("konnectivityFindings() = %v for a reachable server", found)
	}
}
