// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"encoding/json"
	"net/netip"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hcp-node-agent/hcp-node-agent/internal/enrollment"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition"
	"github.com/hcp-node-agent/hcp-node-agent/internal/preflight"
	"github.com/hcp-node-agent/hcp-node-agent/internal/steps"
)

// networkPayload returns a payload whose DNS service has the address 172.31.0.10.
func networkPayload(t *testing.T, noProxy, unit string) *ignition.Payload {
	t.Helper()
	type file = map[string]any
	content := func(text string) any { return map[string]string{"source": "data:," + text} }
	files := []file{{"path": ignition.KubeletConfigPath, "contents": content("clusterDNS%3A%20%5B172.31.0.10%5D")}}
	if noProxy != "" {
		files = append(files, file{"path": proxyEnvironment, "contents": content("NO_PROXY%3D" + noProxy + "%0A")})
	}
	config := map[string]any{
		"ignition": map[string]string{"version": "3.2.0"}, "storage": map[string]any{"files": files},
	}
	if unit != "" {
		units := []map[string]string{{"name": "ovs-configuration.service", "contents": unit}}
		config["systemd"] = map[string]any{"units": units}
	}
	encoded, err := json.Marshal(config)
	if err != nil {
		t.Fatal(err)
	}
	payload, err := ignition.LoadPayload(encoded)
	if err != nil {
		t.Fatal(err)
	}
	return payload
}

func clusterNetworks(use enrollment.NetworkUse, cidrs ...string) []enrollment.ClusterNetwork {
	var networks []enrollment.ClusterNetwork
	for _, cidr := range cidrs {
		networks = append(networks, enrollment.ClusterNetwork{Use: use, CIDR: netip.MustParsePrefix(cidr)})
	}
	return networks
}

func TestNetworkFacts(t *testing.T) {
	const ovn, other = "[Service]\nExecStart=/usr/local/bin/configure-ovs.sh OVNKubernetes\n",
		"[Service]\nExecStart=/usr/local/bin/configure-ovs.sh Calico\n"
	dns := []netip.Addr{netip.MustParseAddr("172.31.0.10")}
	for name, test := range map[string]struct {
		noProxy, unit string
		token         []enrollment.ClusterNetwork
		change        func(*Run)
		want          preflight.NetworkFacts
	}{
		"OVN-Kubernetes": {unit: ovn, want: preflight.NetworkFacts{AssumesOVN: true, ClusterDNS: dns}},
		"unknown plugin": {want: preflight.NetworkFacts{AssumesOVN: true, ClusterDNS: dns}},
		"another plugin": {unit: other, want: preflight.NetworkFacts{ClusterDNS: dns}},
		"service network of a proxy": {
			noProxy: ".svc,10.132.0.0/14,172.31.0.0/16,172.16.0.0/12,localhost",
			want: preflight.NetworkFacts{
				AssumesOVN: true, ClusterDNS: dns, Known: clusterNetworks(enrollment.Services, "172.31.0.0/16"),
			},
		},
		"proxy without the service network": {
			noProxy: ".svc,10.132.0.0/14", want: preflight.NetworkFacts{AssumesOVN: true, ClusterDNS: dns},
		},
		"the join token has precedence": {
			noProxy: "172.16.0.0/12", token: clusterNetworks(enrollment.Services, "172.31.0.0/16"),
			want: preflight.NetworkFacts{
				AssumesOVN: true, ClusterDNS: dns, Known: clusterNetworks(enrollment.Services, "172.31.0.0/16"),
			},
		},
		"kubelet may run": {
			unit: ovn, change: func(r *Run) { r.State.Completed = []string{steps.ClientCertificate} },
			want: preflight.NetworkFacts{AssumesOVN: true, ClusterDNS: dns, HasJoined: true},
		},
		"joined": {
			unit: ovn, change: func(r *Run) { r.State.Finished = time.Now() },
			want: preflight.NetworkFacts{AssumesOVN: true, ClusterDNS: dns, HasJoined: true},
		},
		"joined with another plugin": {unit: other, change: func(r *Run) { r.State.Finished = time.Now() }},
		"joined with another plugin by the join token": {
			unit: ovn, token: clusterNetworks(enrollment.Pods, "10.132.0.0/14"),
			change: func(r *Run) { r.State.Finished = time.Now() },
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := &Session{Run: &Run{}}
			if test.token != nil {
				s.Run.JoinToken = &enrollment.Token{Networks: test.token}
			}
			if test.change != nil {
				test.change(s.Run)
			}
			got, err := s.NetworkFacts(NewUplink(s), networkPayload(t, test.noProxy, test.unit))
			if err != nil {
				t.Fatal(err)
			}
			hasHost := len(got.Addresses) > 0 // at least that of lo
			if isUnchecked := test.want.ClusterDNS == nil; hasHost == isUnchecked {
				t.Errorf("addresses %v", got.Addresses)
			}
			got.Addresses, got.Routes = nil, nil // of this machine
			if diff := cmp.Diff(test.want, got, cmp.Comparer(func(a, b netip.Prefix) bool { return a == b }),
				cmp.Comparer(func(a, b netip.Addr) bool { return a == b })); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// Without a payload, only the networks of the join token are known.
func TestNetworkFactsWithoutPayload(t *testing.T) {
	s := &Session{Run: &Run{}}
	s.Run.JoinToken = &enrollment.Token{Networks: clusterNetworks(enrollment.Pods, "10.132.0.0/14")}
	got, err := s.NetworkFacts(NewUplink(s), nil)
	if err != nil || !got.AssumesOVN || len(got.Known) != 1 || got.ClusterDNS != nil {
		t.Errorf("%+v, %v", got, err)
	}
}
