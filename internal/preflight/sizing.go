// SPDX-License-Identifier: Apache-2.0

package preflight

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/cpuset"
	"sigs.k8s.io/yaml"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostinfo"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// Resources are amounts of CPU and memory.
type Resources struct {
	MilliCPU  int64
	MemoryMiB int64
}

// NodeSizingPath is the file from which a script of the payload computes systemReserved at
// each boot. It overrides systemReserved in kubelet's configuration.
const NodeSizingPath = "/etc/node-sizing-enabled.env"

// defaultReservation is the reservation of a NodePool without a KubeletConfig, in all releases:
// 500m and 1Gi for the system, and kubelet's eviction threshold of 100Mi.
var defaultReservation = Resources{MilliCPU: 500, MemoryMiB: 1024 + 100}

// networkPods are the requests of the pods of OVN-Kubernetes, Multus and their monitors on
// each node (cluster-network-operator, bindata/network). Unless they are scheduled, the Node does not
// become Ready.
var networkPods = Resources{MilliCPU: 180, MemoryMiB: 2048}

// ReadReservation returns the resources that kubelet does not make available to pods:
// systemReserved, kubeReserved and the hard eviction threshold of memory
// (GetNodeAllocatableReservation in k8s.io/kubernetes/pkg/kubelet/cm). conf is kubelet's configuration,
// sizing the content of NodeSizingPath; each can be empty.
func ReadReservation(conf, sizing []byte, host hostinfo.Facts) (Resources, error) {
	var config struct {
		SystemReserved     map[string]resource.Quantity `json:"systemReserved"`
		KubeReserved       map[string]resource.Quantity `json:"kubeReserved"`
		ReservedSystemCPUs string                       `json:"reservedSystemCPUs"`
		EvictionHard       map[string]string            `json:"evictionHard"`
	}
	if err := yaml.Unmarshal(conf, &config); err != nil {
		return Resources{}, fmt.Errorf("reading the reservations of kubelet: %w", err)
	}
	system, err := readNodeSizing(sizing, host)
	if err != nil {
		return Resources{}, err
	}
	if system == nil {
		system = config.SystemReserved
	}
	reserved := sum(system, config.KubeReserved)
	if config.ReservedSystemCPUs != "" { // overrides both CPU reservations
		cpus, err := cpuset.Parse(config.ReservedSystemCPUs)
		if err != nil {
			return Resources{}, fmt.Errorf("reading the reservations of kubelet: reservedSystemCPUs: %w", err)
		}
		reserved.MilliCPU = int64(cpus.Size()) * 1000
	}
	eviction, err := evictionMiB(config.EvictionHard, host.MemoryKiB/1024)
	reserved.MemoryMiB += eviction
	return reserved, err
}

// readNodeSizing returns systemReserved as the payload's script sets it, nil without a file.
// With automatic sizing, the scripts of all releases reserve 500m for up to 37 CPUs, and
// 1Gi for 2 to 6 GiB of memory; for less memory, some reserve nothing. A larger host has
// enough for a node in any case.
func readNodeSizing(content []byte, host hostinfo.Facts) (map[string]resource.Quantity, error) {
	if len(content) == 0 {
		return nil, nil //nolint:nilnil // kubelet's configuration has the reservation
	}
	values := hostinfo.ParseEnv(content)
	if values["NODE_SIZING_ENABLED"] == "true" {
		values = nil
		if host.MemoryKiB < 2<<20 {
			values = map[string]string{"SYSTEM_RESERVED_MEMORY": "0"}
		}
	}
	reserved := map[string]resource.Quantity{}
	for name, variable := range map[string]struct{ key, standard string }{
		"cpu": {"SYSTEM_RESERVED_CPU", "500m"}, "memory": {"SYSTEM_RESERVED_MEMORY", "1Gi"},
	} {
		quantity, err := resource.ParseQuantity(cmp.Or(values[variable.key], variable.standard))
		if err != nil {
			return nil, fmt.Errorf("reading %s of the payload: %s: %w", NodeSizingPath, variable.key, err)
		}
		reserved[name] = quantity
	}
	return reserved, nil
}

func sum(lists ...map[string]resource.Quantity) Resources {
	var total Resources
	for _, list := range lists {
		cpu, memory := list["cpu"], list["memory"]
		total.MilliCPU += cpu.MilliValue()
		total.MemoryMiB += memory.Value() >> 20
	}
	return total
}

// evictionMiB returns the free memory below which kubelet evicts pods. Configured thresholds
// replace all of kubelet's defaults.
func evictionMiB(thresholds map[string]string, memoryMiB int64) (int64, error) {
	if len(thresholds) == 0 {
		return 100, nil
	}
	text := thresholds["memory.available"]
	if text == "" {
		return 0, nil
	}
	if percentage, found := strings.CutSuffix(text, "%"); found {
		share, err := strconv.ParseFloat(percentage, 64)
		if err != nil {
			return 0, fmt.Errorf("reading the reservations of kubelet: evictionHard: %w", err)
		}
		return int64(share / 100 * float64(memoryMiB)), nil
	}
	quantity, err := resource.ParseQuantity(text)
	if err != nil {
		return 0, fmt.Errorf("reading the reservations of kubelet: evictionHard: %w", err)
	}
	return quantity.Value() >> 20, nil
}

// leaves returns what a reservation leaves of the host for pods.
func (r Resources) leaves(host hostinfo.Facts) Resources {
	return Resources{MilliCPU: int64(host.CPUs)*1000 - r.MilliCPU, MemoryMiB: host.MemoryKiB/1024 - r.MemoryMiB}
}

// String returns the amounts in the form "0.5 CPU and 1.1 GiB of memory".
func (r Resources) String() string {
	cpu := strconv.FormatFloat(float64(r.MilliCPU)/1000, 'f', -1, 64) + " CPU"
	if r.MilliCPU > 1000 {
		cpu += "s"
	}
	memory := strings.TrimSuffix(strconv.FormatFloat(float64(r.MemoryMiB)/1024, 'f', 1, 64), ".0")
	return cpu + " and " + memory + " GiB of memory"
}

// isTooSmall reports whether the pods of the network do not fit into what is left of a host.
func (r Resources) isTooSmall() bool {
	return r.MilliCPU < networkPods.MilliCPU || r.MemoryMiB < networkPods.MemoryMiB
}

// checkResources reports a host that is too small with the default reservation.
func checkResources(f HostFacts) []report.Finding {
	left := defaultReservation.leaves(f.Host)
	if f.Host.CPUs == 0 || f.Host.MemoryKiB == 0 || !left.isTooSmall() {
		return nil
	}
	return tooSmall(f.Host, defaultReservation)
}

// checkReservation reports a payload whose reservation is too large for the host, unless
// checkResources reports the host already.
func checkReservation(f PayloadFacts) []report.Finding {
	left := f.Reserved.leaves(f.Host)
	switch {
	case f.Host.CPUs == 0 || f.Host.MemoryKiB == 0:
		return nil
	case left.MilliCPU < 0 || left.MemoryMiB < 0:
		return errorFinding("# use a larger host, or reduce systemReserved and kubeReserved in the KubeletConfig of the "+
			"NodePool",
			"kubelet would not start: the payload reserves %s, and this host has %s", f.Reserved, Resources{}.leaves(f.Host))
	case left.isTooSmall() && !defaultReservation.leaves(f.Host).isTooSmall():
		return tooSmall(f.Host, f.Reserved)
	}
	return nil
}

func tooSmall(host hostinfo.Facts, reserved Resources) []report.Finding {
	return warningFinding("# use a host with at least 2 CPUs and 8 GiB of memory",
		"%s are too few for a worker: kubelet reserves %s, and the pods of OVN-Kubernetes request about %s",
		Resources{}.leaves(host), reserved, networkPods)
}
