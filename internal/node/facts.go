// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/cri"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostinfo"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/systemd"
	"github.com/hcp-node-agent/hcp-node-agent/internal/kube"
	"github.com/hcp-node-agent/hcp-node-agent/internal/node/pods"
	"github.com/hcp-node-agent/hcp-node-agent/internal/node/servicelog"
)

// facts contains all that is known about a node with problems. The diagnosis
// depends on nothing else.
type facts struct {
	name        string
	bootID      string       // boot ID of this host; "" if unknown
	node        *corev1.Node // nil if it does not exist
	deleted     bool         // node is nil but existed before
	isStale     bool         // node is Ready by the report of an earlier kubelet process
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

// Host is the host as a source of facts for diagnosis. Empty fields are
// skipped.
type Host struct {
	Systemd      systemd.Reader // nil if systemd is not running
	CNIDirectory string         // directory of CRI-O's network configurations, /etc/kubernetes/cni/net.d
	RuntimeUnit  string         // crio.service
	Socket       string         // CRI-O's socket, cri.Socket
	PullSecret   string         // pods.PullSecretPath
	Disks        []string       // paths on the file systems that kubelet and CRI-O fill
}

// JoinedHost returns the settings for a joined host.
func JoinedHost(units systemd.Reader, cniDirectory string) Host {
	return Host{
		Systemd:      units,
		CNIDirectory: cniDirectory,
		RuntimeUnit:  systemd.CRIOUnit,
		Socket:       cri.Socket,
		PullSecret:   pods.PullSecretPath,
		Disks:        []string{"/var/lib/kubelet", "/var/lib/containers"},
	}
}

func (h Host) gatherFacts(ctx context.Context) hostFacts {
	f := hostFacts{
		units:          h.inactiveUnits(ctx),
		cniDir:         h.CNIDirectory,
		networkConfigs: h.networkConfigs(),
		registries:     h.pullSecretRegistries(),
		kubeletErrors:  servicelog.LastErrors(ctx, systemd.KubeletUnit, 60, "--since=-6min"),
		recentErrors:   servicelog.LastErrors(ctx, systemd.KubeletUnit, 20, "--since=-1min"),
	}
	if len(f.units) == 0 {
		f.runtimeErr = h.checkRuntime(ctx)
	}
	for _, path := range h.Disks {
		if usage, err := hostinfo.FileSystemUsage(path); err == nil { // skips paths that do not exist yet
			f.disks = append(f.disks, usage)
		}
	}
	f.availableKiB, f.totalKiB = hostinfo.MemoryAvailable()
	f.tasks, f.maxTasks = hostinfo.Tasks()
	return f
}

// inactiveUnits returns kubelet's unit and the units that it requires, as far as they
// are inactive. A required unit precedes the units that require it, because it
// is the more direct cause.
func (h Host) inactiveUnits(ctx context.Context) []unitFacts {
	if h.Systemd == nil {
		return nil
	}
	seen := map[string]bool{}
	units := h.inactiveUnitsBelow(ctx, h.RuntimeUnit, systemd.KubeletUnit, seen)
	return append(units, h.inactiveUnitsBelow(ctx, systemd.KubeletUnit, "", seen)...)
}

func (h Host) inactiveUnitsBelow(ctx context.Context, name, needed string, seen map[string]bool) []unitFacts {
	if name == "" || seen[name] {
		return nil
	}
	seen[name] = true
	state, err := h.Systemd.UnitState(ctx, name)
	if err != nil || state.Active == "active" {
		return nil // an error of systemd is not evidence about the unit
	}
	var units []unitFacts
	required, _ := h.Systemd.Requires(ctx, name) // ignored for the same reason
	for _, unit := range required {
		units = append(units, h.inactiveUnitsBelow(ctx, unit, name, seen)...)
	}
	if name != systemd.KubeletUnit && name != h.RuntimeUnit && !isBlocking(name, state) {
		return units
	}
	return append(units, unitFacts{
		name:       name,
		requiredBy: needed,
		state:      state,
		errors:     servicelog.LastErrors(ctx, name, 4),
	})
}

// isBlocking reports whether an inactive required unit can be the cause. A oneshot
// unit that has exited successfully is inactive but not a problem.
func isBlocking(name string, state systemd.UnitState) bool {
	switch {
	case state.Load != "" && state.Load != "loaded":
		return true
	case strings.HasSuffix(name, ".target"), strings.HasSuffix(name, ".slice"):
		return false // they only reflect other units
	}
	return state.Active == "failed" || state.Active == "activating"
}

// checkRuntime returns an error if CRI-O does not respond.
func (h Host) checkRuntime(ctx context.Context) error {
	if h.Socket == "" {
		return nil
	}
	bounded, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	_, err := cri.Version(bounded, h.Socket)
	if ctx.Err() != nil {
		return nil // the caller's deadline passed, which is no evidence about CRI-O
	}
	return err
}

// networkConfigs returns the network configurations, by the file name extensions of
// CNI.
func (h Host) networkConfigs() []string {
	entries, _ := os.ReadDir(h.CNIDirectory) // a missing directory contains no configurations
	var names []string
	for _, entry := range entries {
		if slices.Contains([]string{".conf", ".conflist", ".json"}, filepath.Ext(entry.Name())) {
			names = append(names, entry.Name())
		}
	}
	return names
}

// pullSecretRegistries returns the registries in the node's pull secret, some with a path. The
// credentials are not kept.
func (h Host) pullSecretRegistries() []string {
	content, err := os.ReadFile(h.PullSecret)
	if err != nil {
		return nil
	}
	var secret struct {
		Auths map[string]struct{} `json:"auths"`
	}
	if json.Unmarshal(content, &secret) != nil {
		return nil
	}
	return slices.AppendSeq([]string{}, maps.Keys(secret.Auths))
}
