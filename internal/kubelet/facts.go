package kubelet

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host"
)

// facts is all that is known about a node that is not as it should be. The
// decisions are made from it alone.
type facts struct {
	name    string
	boot    string       // of this machine; "" when not known
	node    *corev1.Node // nil when there is none
	deleted bool         // node is nil, and existed before
	machine machineFacts
	ahead   time.Duration // how far this machine's clock is ahead of the API server's
	pods    []*corev1.Pod // of this node
	noPods  error         // why pods is not known
	absent  []reference   // what these pods need and the cluster does not have
}

// machineFacts is what the machine itself tells.
type machineFacts struct {
	units    []unitFacts // that do not run, those that the others need first
	kubelet  []string    // kubelet's errors of the last minutes, the newest last: it tries to pull every five
	recent   []string    // those of the last minute, which are not over
	runtime  error       // why CRI-O does not answer at its socket
	cniDir   string
	networks []string // network configurations
	disks    []host.Usage
	memory   memoryFacts
	tasks    taskFacts
	auths    []string // what the pull secret is for; nil when not known
}

type memoryFacts struct{ available, total int64 } // KiB

type taskFacts struct{ running, most int }

// unitFacts is a unit that does not run.
type unitFacts struct {
	name   string
	needed string // by this unit; "" for kubelet itself
	state  host.UnitState
	errors []string // its last errors, the newest last
}

// look gathers the facts about the Node as it was last seen. What is gathered
// while ctx ends is not whole, and worth nothing.
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

// ahead is how far this machine's clock is ahead of the API server's; an
// answer's Date has whole seconds.
func (a *api) ahead() time.Duration {
	return time.Since(a.clock.now()).Truncate(time.Second)
}
