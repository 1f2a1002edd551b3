// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"context"
	"slices"
	"strings"

	"github.com/hcp-node-agent/hcp-node-agent/internal/crio"
	"github.com/hcp-node-agent/hcp-node-agent/internal/effects"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostfs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostnet"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition/accounts"
	"github.com/hcp-node-agent/hcp-node-agent/internal/joinstate"
	"github.com/hcp-node-agent/hcp-node-agent/internal/kinds"
	"github.com/hcp-node-agent/hcp-node-agent/internal/kubelet"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
	"github.com/hcp-node-agent/hcp-node-agent/internal/lists"
	"github.com/hcp-node-agent/hcp-node-agent/internal/machine"
	"github.com/hcp-node-agent/hcp-node-agent/internal/othercluster"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ovs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ovs/migrate"
	"github.com/hcp-node-agent/hcp-node-agent/internal/steps"
)

// Why a leave of an adopted host keeps an object.
const (
	keptUnknown = "its state before the join is not known"
	keptNetwork = "its state before the join is not known, and the network of the host depends on it"
	keptPlugins = "plugins of the cluster cannot be distinguished from those of others"
)

// Adoption describes the objects of a plan on a host that is a node already. Nothing is changed.
type Adoption struct {
	// Made are the objects that have their desired state and cannot have existed before the host became a node, with the
	// states before in Now, by the step that a join makes them in.
	Made map[string][]ledger.PlannedChange
	// Kept are the objects that have their desired state, and whose state before is not known.
	Kept []joinstate.KeptObject
	// Present are the changes of kept objects, by the step of a join. Of br-ex, plugins and accounts there is none: the
	// agent would treat recorded accounts as created by it.
	Present map[string][]ledger.Change
	// Differences are the changes that a join would make.
	Differences []ledger.PlannedChange
}

// CompareAdoption compares the objects of a plan with the host, except those of the network.
func (s *Session) CompareAdoption(ctx context.Context, p *Plan) (Adoption, error) {
	people, err := accounts.Plan(ctx, s.Accounts(p))
	if err != nil {
		return Adoption{}, err
	}
	differences, err := s.Host.Ledger.Diff(ctx, p.Requested(people))
	if err != nil {
		return Adoption{}, err
	}
	c := adoptionComparison{
		files: s.Host.Files, ofIgnition: s.Host.Facts.Capabilities().OwnsPayload,
		differs: map[string]bool{}, made: map[string]bool{},
	}
	for _, one := range differences {
		c.differs[one.Key()] = true
	}
	if s.Run.State.Hosted { // a node does not have the credential any more
		differences = slices.DeleteFunc(differences, func(d ledger.PlannedChange) bool {
			return d.Target == ignition.BootstrapKubeconfigPath && !d.Now.Present
		})
	}
	if c.owners, err = c.findOwners(ctx, p.Requested(people), othercluster.PackageOwners()); err != nil {
		return Adoption{}, err
	}
	c.result = Adoption{
		Made: map[string][]ledger.PlannedChange{}, Present: map[string][]ledger.Change{}, Differences: differences,
	}
	runtime, err := s.runtimeUnit(ctx)
	if err != nil {
		return Adoption{}, err
	}
	for _, part := range []struct {
		step    string
		changes []ledger.Change
	}{
		{steps.Files, slices.Concat(people, p.KernelArguments, p.Files)},
		{steps.System, slices.Concat(p.Units, p.Modules, p.Sysctls, p.HostSettings)},
		{steps.Runtime, append(crio.Changes(p.Runtime), runtime)},
		{steps.Kubelet, p.Kubelet},
	} {
		if err := c.add(part.step, part.changes); err != nil {
			return Adoption{}, err
		}
	}
	return c.result, c.addNetwork()
}

// runtimeUnit returns the present state of CRI-O as a change: a leave stops it, and disables it if it is enabled.
func (s *Session) runtimeUnit(ctx context.Context) (ledger.Change, error) {
	unit := ledger.Change{
		Kind: ledger.Unit, Target: crio.Unit, Reason: "required on a node",
		Desired: ledger.State{Present: true, Active: "active"},
	}
	state, err := s.Host.Units.UnitState(ctx, crio.Unit)
	if state.File == "enabled" {
		unit.Desired.Enabled = state.File
	}
	return unit, err
}

// adoptionComparison collects the objects of an adoption.
type adoptionComparison struct {
	files      hostfs.Reader
	ofIgnition bool              // the files and units belong to Ignition, and were there before any join
	owners     map[string]string // packages of paths
	differs    map[string]bool   // keys
	made       map[string]bool   // keys
	result     Adoption
}

// findOwners returns the packages to which paths of the changes belong. owners is nil on a host without rpm.
func (c *adoptionComparison) findOwners(
	ctx context.Context, changes []ledger.Change, owners othercluster.Owners,
) (map[string]string, error) {
	if owners == nil {
		return map[string]string{}, nil
	}
	var paths []string
	for _, change := range changes {
		if change.Kind.FileType() != "" && !c.differs[change.Key()] && !slices.Contains(paths, change.Target) {
			paths = append(paths, change.Target)
		}
	}
	return owners(ctx, paths)
}

// add adds the changes of a step that the host has already.
func (c *adoptionComparison) add(step string, changes []ledger.Change) error {
	for _, change := range changes {
		if c.differs[change.Key()] || c.made[change.Key()] || !change.Desired.Present {
			continue
		}
		before, isKnown, err := c.before(change)
		if err != nil {
			return err
		}
		if isKnown {
			c.made[change.Key()] = true
			c.result.Made[step] = append(c.result.Made[step], ledger.PlannedChange{Change: change, Now: before})
			continue
		}
		kept := joinstate.KeptObject{
			Kind: change.Kind, Target: change.Target, Reason: keptUnknown, Package: c.owners[change.Target],
		}
		if isOfNetwork(change) {
			kept.Reason, kept.Package = keptNetwork, ""
		}
		if kept.Package != "" && change.Kind == ledger.Directory {
			continue
		}
		c.result.Kept = lists.AppendMissing(c.result.Kept, kept)
		if kinds.GroupOf(change) != kinds.GroupUsers {
			c.result.Present[step] = append(c.result.Present[step], change)
		}
	}
	return nil
}

// before returns the state of an object before the host became a node, and whether it is known.
func (c *adoptionComparison) before(change ledger.Change) (ledger.State, bool, error) {
	switch {
	case c.ofIgnition || isOfNetwork(change):
		return ledger.State{}, false, nil
	case change.Kind == ledger.Unit:
		// A host that has only the packages does not enable the units of the node.
		isOfNode := change.Target == kubelet.UnitName || change.Target == crio.Unit ||
			c.made[ledger.Change{Kind: ledger.File, Target: unitPath(change.Target)}.Key()]
		return ledger.State{Present: true, Enabled: "disabled", Active: "inactive"},
			isOfNode && change.Desired.Enabled != "disabled", nil
	case change.Kind.FileType() == "", c.owners[change.Target] != "":
		return ledger.State{}, false, nil
	}
	ofImage := false
	var err error
	if strings.HasPrefix(change.Target, "/etc/") { // OSTree has the files of the image in /usr/etc
		ofImage, err = c.files.Exists("/usr" + change.Target)
	}
	return ledger.State{}, !ofImage, err
}

// addNetwork adds br-ex and the plugins, which no plan contains, to the kept objects.
func (c *adoptionComparison) addNetwork() error {
	links, err := hostnet.Links()
	if err != nil {
		return err
	}
	if slices.ContainsFunc(links, func(link hostnet.Link) bool { return link.Name == ovs.BridgeName }) {
		c.result.Kept = append(c.result.Kept,
			joinstate.KeptObject{Kind: migrate.Kind, Target: ovs.BridgeName, Reason: keptNetwork})
	}
	for _, dir := range machine.PluginDirs() {
		exists, err := c.files.Exists(dir)
		if err != nil {
			return err
		}
		if exists {
			c.result.Kept = append(c.result.Kept,
				joinstate.KeptObject{Kind: ledger.Directory, Target: dir, Reason: keptPlugins})
		}
	}
	return nil
}

func unitPath(name string) string { return "/etc/systemd/system/" + name }

// networkPaths configure NetworkManager, the script that creates br-ex, and the names and drivers of interfaces.
var networkPaths = []string{
	"/etc/NetworkManager", "/etc/nmstate", "/etc/ovnk", "/usr/local/bin/configure-ovs.sh", "/etc/udev/rules.d",
	"/etc/systemd/network", "/etc/sysconfig/network-scripts", "/etc/modprobe.d", "/etc/modules-load.d",
}

// isOfNetwork reports whether the network of the host can depend on an object: without it, br-ex might not be created
// at the next boot.
func isOfNetwork(change ledger.Change) bool {
	target := change.Target
	switch {
	case change.Kind == ledger.Unit:
		target = unitPath(target)
	case change.Kind.FileType() == "":
		return false
	}
	return effects.OfPath(target).Action == effects.AtBoot ||
		slices.ContainsFunc(networkPaths, func(dir string) bool { return hostfs.IsWithin(target, dir) })
}
