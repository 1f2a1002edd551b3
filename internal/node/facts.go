// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostinfo"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/systemd"
	"github.com/hcp-node-agent/hcp-node-agent/internal/kube"
	"github.com/hcp-node-agent/hcp-node-agent/internal/node/pods"
)

// facts contains all that is known about a node with problems. The diagnosis
// depends on nothing else.
type facts struct {
	name        string
	bootID      string       // boot ID of this host; "" if unknown
	node        *corev1.Node // nil if it does not exist
	deleted     bool         // node is nil but existed before
	hostState   hostFacts
	clockOffset time.Duration // local clock minus the API server's clock
	pods        []*corev1.Pod // pods of this node
	podsErr     error         // why pods is unknown; nil if it is known
	// requestedTaints are the taints that the administrator requested.
	requestedTaints []string
}

// hostFacts contains the facts that the host itself provides.
type hostFacts struct {
	units          []unitFacts // inactive units, dependencies first
	kubeletErrors  []string    // kubelet's errors of the last minutes, the newest last
	recentErrors   []string    // kubelet's errors of the last minute, which still persist
	runtimeErr     error       // why CRI-O does not respond on its socket
	cniDir         string
	networkConfigs []string // CNI network configurations
	disks          []hostinfo.Usage
	registries     []string // registries in the pull secret; nil if unknown

	availableKiB, totalKiB int64 // memory
	tasks, maxTasks        int   // processes and threads
}

// unitFacts describes an inactive unit.
type unitFacts struct {
	name       string
	requiredBy string // the unit that requires this one; "" for kubelet itself
	state      systemd.UnitState
	errors     []string // the last errors, the newest last
}

// gatherFacts gathers the facts about node as it was last seen. If ctx ends meanwhile,
// the facts are incomplete and must not be used.
func (n *Node) gatherFacts(ctx context.Context, node *corev1.Node) facts {
	f := facts{
		name:            n.Name,
		bootID:          n.BootID,
		node:            node,
		requestedTaints: n.RequestedTaints,
		deleted:         node == nil && n.Registered,
		hostState:       n.Host.gatherFacts(ctx),
		clockOffset:     clockOffset(n.Conn),
	}
	f.pods, f.podsErr = n.pods(ctx)
	return f
}

// clockOffset returns how far the local clock is ahead of the API server's. The
// result has whole seconds, like the Date header.
func clockOffset(a *kube.Conn) time.Duration {
	return time.Since(a.Clock.Now()).Truncate(time.Second)
}

// evidence returns the facts that explain the problems of pods.
func (f facts) evidence() pods.Evidence {
	return pods.Evidence{
		KubeletErrors:  f.hostState.kubeletErrors,
		Registries:     f.hostState.registries,
		NetworkMissing: f.node != nil && isNetworkMissing(f.node),
	}
}
