// SPDX-License-Identifier: Apache-2.0

package adapt

import (
	"fmt"
	"slices"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostinfo"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/systemd"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition/accounts"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition/entries"
)

// kubeletUnit is the unit that is enabled separately from all others: a reboot during a join
// must not start kubelet before the node has an identity.
const kubeletUnit = systemd.KubeletUnit

// Input holds the facts about the host that ToHost needs.
type Input struct {
	Facts    hostinfo.Facts
	Hosted   bool   // the payload belongs to a NodePool, not to a standalone cluster
	NodePool string // NAMESPACE/NAME, copied to the plan
	// CreatesBridgeAtBoot means that configure-ovs.sh of the host creates br-ex at every boot.
	CreatesBridgeAtBoot bool
	// Exclude lists patterns of entries to exclude: absolute paths, units, or UNIT/DROP-IN. See
	// config.MatchPath.
	Exclude []string

	// ApplyHostSettings plans settings of the host that are not in files. Otherwise they become notes
	// for the administrator.
	ApplyHostSettings bool
	FirewallZone      string // of firewalld, in which the ports of a node are opened; "" if it is not running

	Tree        entries.Tree   // the host's files
	User, Group map[string]int // the IDs in the host's passwd(5) and group(5), by name

	HasUnit       func(name string) bool   // whether a unit file of that name exists
	UnitFileState func(name string) string // state as printed by `systemctl is-enabled`, "" for no unit
	HasSysctl     func(name string) bool   // whether the running kernel has the sysctl; the name has dots
	HasModule     func(name string) bool   // whether the module is built in, loaded or loadable
	// IsModuleLoaded reports whether the module is loaded or built in.
	IsModuleLoaded func(name string) bool

	HasDevice     func(path string) bool // whether a path below /dev exists; nil if it is unknown
	HasFileSystem func(path string) bool // whether a file system is mounted at the path, without a bind mount
	HasContent    func(path string) bool // whether a block device has content; nil if it is unknown
}

// ToHost returns the plan of a payload for a host. It is a pure function of its arguments and
// changes nothing. Parts that the agent cannot apply are an error before anything is
// written: disks except on RHEL CoreOS, payloads of another platform, and entries that conflict with files of the
// host. The error names all conflicting entries.
func ToHost(payload *ignition.Payload, in Input) (*Plan, error) {
	p, err := newPlanner(payload, in)
	if err != nil {
		return nil, err
	}
	if err := checkExclusions(in.Exclude, p.kubelet); err != nil {
		return nil, err
	}
	if err := p.checkPlatform(); err != nil {
		return nil, err
	}
	if err := checkMounts(p.units.provided, in.HasDevice); err != nil {
		return nil, err
	}
	if err := checkOverwrites(p.units.provided, in.Tree, in.HasContent); err != nil {
		return nil, err
	}
	if !p.isAdapted() {
		disks := diskNotes{hasDevice: in.HasDevice, hasFileSystem: in.HasFileSystem}
		disks.addAll(payload.Config.Storage)
		p.plan.Notes = append(p.plan.Notes, disks.notes...)
	}
	p.planAccounts()
	user, group := accounts.Announced(p.plan.Accounts, in.User, in.Group)
	storage := p.adaptStorage()
	units, beside := p.adaptUnits()
	decision, err := entries.Decide(entries.Input{
		Storage: storage, Units: units, Contents: payload.Contents, Appends: payload.Appends,
		Tree: in.Tree, User: user, Group: group, Provisioned: !p.isAdapted(),
	})
	if err != nil {
		return nil, fmt.Errorf("adapting the payload: %w", err)
	}
	changes := decision.Changes
	for i, change := range changes {
		if rule, ruled := p.ruleNames[change.Target]; ruled {
			changes[i].Reason = ruleReason(rule)
		}
	}
	p.plan.Files = slices.Concat(changes, beside)
	p.markOverrides()
	p.noteUnusedPatterns()
	p.applyHostRules()
	p.planKernelSettings()
	if err := p.planHostSettings(); err != nil {
		return nil, err
	}
	p.noteUnsupported()
	p.planStarts()
	p.plan.MissingUnits = p.units.missing(in.Facts)
	p.plan.Commands = p.commands()
	return p.plan, nil
}

// ToImage returns the changes that Ignition itself would make in the tree of an image, except that
// files with secrets get the modes of a join to a NodePool. The notes name these files. Nothing is
// excluded or added.
func ToImage(
	payload *ignition.Payload, tree entries.Tree, user, group map[string]int,
) (*entries.Decision, []Note, error) {
	rulesTable, err := readTable()
	if err != nil {
		return nil, nil, err
	}
	ofImages := slices.DeleteFunc(slices.Clone(rulesTable.Rules), func(r rule) bool { return !r.Images })
	p := &planner{
		in: Input{Hosted: true}, payload: payload, rules: ofImages, plan: &Plan{}, ruleNames: map[string]string{},
	}
	decision, err := entries.Decide(entries.Input{
		Storage: p.adaptStorage(), Units: payload.Config.Systemd.Units, Contents: payload.Contents, Appends: payload.Appends,
		Tree: tree, User: user, Group: group, Strict: true,
	})
	return decision, p.plan.Notes, err
}
