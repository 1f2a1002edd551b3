package kubelet

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host"
)

// facts contains all that is known about a node with problems. The diagnosis
// depends on nothing else.
type facts struct {
	name    string
	boot    string       // boot ID of this host; "" if unknown
	node    *corev1.Node // nil if it does not exist
	deleted bool         // node is nil but existed before
	machine machineFacts
	ahead   time.Duration // local clock minus the API server's clock
	pods    []*corev1.Pod // pods of this node
	noPods  error         // why pods is unknown; nil if it is known
	absent  []reference   // Secrets and ConfigMaps that the pods need and the cluster lacks
}

// machineFacts contains the facts that the host itself provides.
type machineFacts struct {
	units    []unitFacts // inactive units, dependencies first
	kubelet  []string    // kubelet's errors of the last minutes, the newest last; kubelet retries a pull every five
	recent   []string    // kubelet's errors of the last minute, which still persist
	runtime  error       // why CRI-O does not respond on its socket
	cniDir   string
	networks []string // CNI network configurations
	disks    []host.Usage
	memory   memoryFacts
	tasks    taskFacts
	auths    []string // registries in the pull secret; nil if unknown
}

type memoryFacts struct{ available, total int64 } // in KiB

type taskFacts struct{ running, most int }

// unitFacts describes an inactive unit.
type unitFacts struct {
	name   string
	needed string // the unit that requires this one; "" for kubelet itself
	state  host.UnitState
	errors []string // the last errors, the newest last
}

// look gathers the facts about node as it was last seen. If ctx ends meanwhile,
// the facts are incomplete and must not be used.
func (n *Node) look(ctx context.Context, node *corev1.Node) facts {
	f := facts{
		name: n.Name, boot: n.BootID, node: node, deleted: node == nil && n.Registered,
		machine: n.Machine.look(ctx), ahead: n.api.ahead(),
	}
	if f.pods, f.noPods = n.pods(ctx); f.noPods == nil {
		f.absent = n.absent(ctx, f.pods)
	}
	return f
}

// ahead returns how far the local clock is ahead of the API server's. The
// result has whole seconds, like the Date header.
func (a *api) ahead() time.Duration {
	return time.Since(a.clock.now()).Truncate(time.Second)
}
