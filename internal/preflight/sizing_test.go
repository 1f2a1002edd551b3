// SPDX-License-Identifier: Apache-2.0

package preflight

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostinfo"
)

func hostOfSize(cpus int, memoryMiB int64) hostinfo.Facts {
	return hostinfo.Facts{CPUs: cpus, MemoryKiB: memoryMiB << 10}
}

func TestReadReservation(t *testing.T) {
	const fixed = "NODE_SIZING_ENABLED=false\nSYSTEM_RESERVED_MEMORY=2Gi\nSYSTEM_RESERVED_CPU=1\nSYSTEM_RESERVED_ES=1Gi\n"
	for name, test := range map[string]struct {
		conf, sizing string
		want         Resources
	}{
		"nothing": {"", "", Resources{0, 100}},
		"default": {
			"maxPods: 250\n", "NODE_SIZING_ENABLED=false\nSYSTEM_RESERVED_MEMORY=1Gi\nSYSTEM_RESERVED_CPU=500m\n",
			defaultReservation,
		},
		"automatic":    {"", strings.Replace(fixed, "false", "true", 1), defaultReservation},
		"empty values": {"", "NODE_SIZING_ENABLED=false\nSYSTEM_RESERVED_MEMORY=\n", defaultReservation},
		"of a KubeletConfig": {
			`{"kubeReserved":{"cpu":"200m","memory":"512Mi"}}`, fixed, Resources{1200, 2048 + 512 + 100},
		},
		"in kubelet's configuration": {
			"systemReserved: {cpu: 250m, memory: 1Gi, ephemeral-storage: 1Gi}\n", "", Resources{250, 1024 + 100},
		},
		"overridden by the script": {"systemReserved: {cpu: 250m, memory: 8Gi}\n", fixed, Resources{1000, 2048 + 100}},
		"reserved CPUs": {
			"reservedSystemCPUs: 0-1,4\nkubeReserved: {cpu: 100m}\n", fixed, Resources{3000, 2048 + 100},
		},
		"eviction threshold": {
			"evictionHard: {memory.available: 500Mi, nodefs.available: 10%}\n", fixed, Resources{1000, 2048 + 500},
		},
		"eviction share":     {"evictionHard: {memory.available: 5%}\n", fixed, Resources{1000, 2048 + 204}},
		"no memory eviction": {"evictionHard: {nodefs.available: 10%}\n", fixed, Resources{1000, 2048}},
	} {
		got, err := ReadReservation([]byte(test.conf), []byte(test.sizing), hostOfSize(2, 4096))
		if diff := cmp.Diff(test.want, got); diff != "" || err != nil {
			t.Errorf("%s (-want +got):\n%s%v", name, diff, err)
		}
	}
	automatic := []byte("NODE_SIZING_ENABLED=true\n")
	if got, err := ReadReservation(nil, automatic, hostOfSize(1, 1900)); got != (Resources{500, 100}) || err != nil {
		t.Errorf("automatic, less than 2 GiB: %s, %v", got, err)
	}
	for name, test := range map[string]struct{ conf, sizing, want string }{
		"configuration": {"systemReserved: [", "", "reading the reservations of kubelet"},
		"quantity": {
			"", "SYSTEM_RESERVED_CPU=much\n", "/etc/node-sizing-enabled.env of the payload: SYSTEM_RESERVED_CPU",
		},
		"CPUs":     {"reservedSystemCPUs: all\n", "", "reservedSystemCPUs"},
		"eviction": {"evictionHard: {memory.available: x%}\n", "", "evictionHard"},
	} {
		if _, err := ReadReservation([]byte(test.conf), []byte(test.sizing), hostinfo.Facts{}); err == nil ||
			!strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %q", name, err, test.want)
		}
	}
}

func TestCheckResources(t *testing.T) {
	for name, test := range map[string]struct {
		host                hostinfo.Facts
		reserved            Resources
		preflight, validate []string
	}{
		"enough":  {hostOfSize(2, 7658), defaultReservation, nil, nil},
		"1 CPU":   {hostOfSize(1, 7658), defaultReservation, nil, nil}, // 500m are left
		"unknown": {hostOfSize(0, 0), Resources{1 << 20, 1 << 20}, nil, nil},
		"too little memory": {hostOfSize(2, 2048), defaultReservation, []string{
			"warning: 2 CPUs and 2 GiB of memory are too few for a worker: kubelet reserves 0.5 CPU and 1.1 GiB of memory, " +
				"and the pods of OVN-Kubernetes request about 0.18 CPU and 2 GiB of memory",
		}, nil},
		"the payload reserves nearly all": {hostOfSize(2, 7658), Resources{1900, 1124}, nil, []string{
			"warning: 2 CPUs and 7.5 GiB of memory are too few for a worker: kubelet reserves 1.9 CPUs and 1.1 GiB of " +
				"memory, and the pods of OVN-Kubernetes request about 0.18 CPU and 2 GiB of memory",
		}},
		"the payload reserves more CPU than there is": {hostOfSize(2, 7658), Resources{2001, 1124}, nil, []string{
			"problem: kubelet would not start: the payload reserves 2.001 CPUs and 1.1 GiB of memory, and this host has " +
				"2 CPUs and 7.5 GiB of memory",
		}},
		"the payload reserves more memory than there is": {hostOfSize(1, 4096), Resources{500, 4196}, nil, []string{
			"problem: kubelet would not start: the payload reserves 0.5 CPU and 4.1 GiB of memory, and this host has " +
				"1 CPU and 4 GiB of memory",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.preflight, messages(checkResources(HostFacts{Host: test.host}))); diff != "" {
				t.Errorf("preflight (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.validate, messages(checkReservation(PayloadFacts{
				Host:     test.host,
				Reserved: test.reserved,
			}))); diff != "" {
				t.Errorf("validate (-want +got):\n%s", diff)
			}
		})
	}
}

func TestCheckCloudProvider(t *testing.T) {
	for name, test := range map[string]struct {
		flags CloudProvider
		want  int
	}{
		"none":                       {CloudProvider{}, 0},
		"external":                   {CloudProvider{Name: "external"}, 1},
		"a machine of that platform": {CloudProvider{Name: "external", ProviderID: "nutanix://0a1b"}, 0},
	} {
		if got := messages(checkCloudProvider(PayloadFacts{CloudProvider: test.flags})); len(got) != test.want ||
			(test.want > 0 &&
				!strings.Contains(got[0], "warning: kubelet runs with --cloud-provider=external and without a provider ID")) {
			t.Errorf("%s: %q, want %d", name, got, test.want)
		}
	}
}
