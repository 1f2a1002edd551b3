// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition"
	"github.com/hcp-node-agent/hcp-node-agent/internal/preflight"
)

func TestKubeletFacts(t *testing.T) {
	cloudUnit := strings.Replace(kubeletUnit, "--config=",
		"--cloud-provider=external --provider-id=${KUBELET_PROVIDERID} --config=", 1)
	external := preflight.CloudProvider{Name: "external"}
	for name, test := range map[string]struct {
		payload string // the files of the payload
		files   map[string]string
		join    func(*Session)
		want    preflight.PayloadFacts
	}{
		"files of the payload": {
			`{"path":"/etc/kubernetes/kubelet.conf","contents":{"source":"data:,kubeReserved%3A%20%7Bcpu%3A%20100m%7D"}},` +
				`{"path":"/etc/node-sizing-enabled.env","contents":{"source":"data:,NODE_SIZING_ENABLED%3Dfalse%0ASYSTEM_RESERVED_MEMORY%3D3Gi%0A"}}`,
			map[string]string{"/etc/node-sizing-enabled.env": "SYSTEM_RESERVED_MEMORY=9Gi\n"},
			nil,
			preflight.PayloadFacts{
				Reserved:      preflight.Resources{MilliCPU: 600, MemoryMiB: 3*1024 + 100},
				CloudProvider: external,
			},
		},
		"no files": {want: preflight.PayloadFacts{Reserved: preflight.Resources{MemoryMiB: 100}, CloudProvider: external}},
		"a provider ID of this host": {
			"",
			map[string]string{units + ".d/20-node-env.conf": "[Service]\nEnvironment=KUBELET_PROVIDERID=nutanix://0a1b\n"},
			nil,
			preflight.PayloadFacts{
				Reserved:      preflight.Resources{MemoryMiB: 100},
				CloudProvider: preflight.CloudProvider{Name: "external", ProviderID: "nutanix://0a1b"},
			},
		},
		"a host that has joined": {
			"", nil,
			func(s *Session) { s.Run.State.Finished = time.Now() },
			preflight.PayloadFacts{Reserved: preflight.Resources{MemoryMiB: 100}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s, p := plannedSession(t, test.files, plannedUnit(cloudUnit))
			payload, err := ignition.LoadPayload([]byte(`{"ignition":{"version":"3.2.0"},"storage":{"files":[` +
				test.payload + `]}}`))
			if err != nil {
				t.Fatal(err)
			}
			if test.join != nil {
				test.join(s)
			}
			var facts preflight.PayloadFacts
			if err := s.addKubeletFacts(payload, p, &facts); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, facts); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestUnsupportedFlagsOfThePlannedUnit(t *testing.T) {
	const flag = "--pod-infra-container-image"
	s, p := plannedSession(t, nil, plannedUnit(strings.Replace(kubeletUnit, "--config=", flag+"=pause --config=", 1)))
	for minor, want := range map[int][]string{34: nil, 35: {flag}} {
		facts := preflight.PayloadFacts{KubeletMinor: minor}
		payload, err := ignition.LoadPayload([]byte(`{"ignition":{"version":"3.2.0"}}`))
		if err == nil {
			err = s.addKubeletFacts(payload, p, &facts)
		}
		if err != nil || !slices.Equal(facts.UnsupportedFlags, want) {
			t.Errorf("kubelet 1.%d: %q, %v; want %q", minor, facts.UnsupportedFlags, err, want)
		}
	}
}
