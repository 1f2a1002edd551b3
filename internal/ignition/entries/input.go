package entries

import (
	"github.com/coreos/ignition/v2/config/v3_6/types"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
)

// Tree is what is looked at; a *host.Tree is one.
type Tree interface {
	Lstat(p string) (host.Info, error)
	ReadFile(p string) ([]byte, host.Info, error)
	Walk(p string, visit func(p string, info host.Info) error) error
	Mounts(p string) ([]string, error)
	GuardLinks(p string) *host.LinkGuard
}

// Input is what is decided from.
type Input struct {
	Storage types.Storage
	Units   []types.Unit

	Contents map[string][]byte // decoded, by path in the config
	Appends  map[string][]byte // decoded, all that is appended to a path, in order

	Tree        Tree
	User, Group Lookup // in the tree's own passwd(5) and group(5)

	// Strict: Ignition's own rules. Otherwise those of a NodePool's config on a
	// running host.
	Strict bool
}

// Lookup finds the number of a user or group by its name. The number -1 means
// that it has none yet, because the config itself makes that account.
type Lookup func(name string) (id int, ok bool)

// Decision is what a config changes in a tree.
type Decision struct {
	// Changes lists all that the config sets, in the order in which the changes can be made: removals, deepest first;
	// directories, files and links by depth; units; hard links. Paths that are already as the config sets them are
	// listed too. Targets are real paths, without symbolic links above them. In the tree of an image, the preset file
	// is not among the changes if the config enables or disables units: see Preset.
	Changes []ledger.Change

	decider *decider
}

// Decide returns what a config changes in a tree. It writes nothing.
//
// An error is a report.Failure that lists the problems found. Its code is Usage if the config must be corrected, and
// Failed if only the tree is in the way. Nothing must be written then.
func Decide(in Input) (*Decision, error) {
	found := &problems{}
	refuse(in, found)
	if found.any() {
		return nil, found.failure()
	}
	d := &decider{in: in, scene: newScene(in.Tree), found: found}
	for _, act := range []func() error{d.storage, d.units} {
		if err := act(); err != nil {
			return nil, err
		}
	}
	changes, err := d.complete()
	if err != nil {
		return nil, err
	}
	return &Decision{Changes: changes, decider: d}, nil
}

// decider makes the entries of a config on a scene.
type decider struct {
	in     Input
	scene  *scene
	found  *problems
	preset *touch // an entry of the config for the preset file, until Preset makes the file
}

// complete returns the changes, or an error if there are problems.
func (d *decider) complete() ([]ledger.Change, error) {
	changes, err := d.changes()
	if err != nil {
		return nil, err
	}
	if d.found.any() {
		return nil, d.found.failure()
	}
	return changes, nil
}
