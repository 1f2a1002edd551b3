// SPDX-License-Identifier: Apache-2.0

package entries

import (
	"cmp"

	"github.com/coreos/ignition/v2/config/v3_6/types"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostfs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
)

// Tree reads a file tree. *hostfs.Tree implements it.
type Tree interface {
	Lstat(p string) (hostfs.Info, error)
	ReadFile(p string) ([]byte, hostfs.Info, error)
	Walk(p string, visit func(p string, info hostfs.Info) error) error
	Mounts(p string) ([]string, error)
	GuardLinks(p string) *hostfs.LinkGuard
}

// Input holds the config and the tree from which Decide decides.
type Input struct {
	Storage types.Storage
	Units   []types.Unit

	Contents map[string][]byte // decoded, by path in the config
	Appends  map[string][]byte // decoded content to append, joined in order, by path

	Tree Tree
	// User and Group are the IDs in the tree's own passwd(5) and group(5), by name. An ID is -1 if the config
	// itself creates the account.
	User, Group map[string]int

	// Strict selects Ignition's own rules. Otherwise the rules for a NodePool's config on a
	// running host apply.
	Strict bool
	// Provisioned: Ignition provisions such a host, also if it has not. The preset file then lists no disabled units, as
	// Ignition lists only those that were enabled until then, and it can contain lines for the units of user data.
	Provisioned bool
}

// Decision holds the changes of a config in a tree.
type Decision struct {
	// Changes lists all changes of the config in an order in which they can be made: removals,
	// deepest first; directories, files and links by depth; units; hard links. Paths that are
	// already in the desired state are included. Targets are real paths, without symbolic links
	// in their parents. For the tree of an image, the preset file is excluded if the config
	// enables or disables units: see Preset.
	Changes []ledger.Change

	decider *decider
}

// Decide returns the changes of a config in a tree. It writes nothing.
//
// An error is a report.Failure that lists the problems found. Its code is Usage if the config
// must be corrected, and Failed if only the tree prevents the changes. The caller must not write
// anything then.
func Decide(in Input) (*Decision, error) {
	found := &problems{}
	checkConfig(in, found)
	if found.hasAny() {
		return nil, found.asFailure()
	}
	d := &decider{in: in, overlay: newOverlay(in.Tree), problems: found}
	if err := d.storage(); err != nil {
		return nil, err
	}
	if err := d.units(); err != nil {
		return nil, err
	}
	changes, err := d.complete()
	if err != nil {
		return nil, err
	}
	return &Decision{Changes: changes, decider: d}, nil
}

// decider applies the entries of a config to an overlay.
type decider struct {
	in       Input
	overlay  *overlay
	problems *problems
	preset   *touchedPath // an entry of the config for the preset file, until Preset makes the file
}

// complete returns the changes, or an error if there are problems.
func (d *decider) complete() ([]ledger.Change, error) {
	changes, err := d.changes()
	if err := cmp.Or(d.overlay.err, err); err != nil {
		return nil, err
	}
	if d.problems.hasAny() {
		return nil, d.problems.asFailure()
	}
	return changes, nil
}
