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
	ReadDir(p string) ([]string, error)
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

// Changes lists all that the config wishes, in the order in which it can be
// made: what must go, deepest first; directories, files and links by depth;
// units; hard links. What is already so is listed too. Targets are real paths:
// no symbolic link is above them.
//
// An error is a report.Failure that names all problems found: with the code
// Usage when the config itself is to be corrected, Failed when only the tree
// is in the way. Nothing is to be written then.
func Changes(in Input) ([]ledger.Change, error) {
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
	changes, err := d.changes()
	if err != nil {
		return nil, err
	}
	if found.any() {
		return nil, found.failure()
	}
	return changes, nil
}

// decider makes the entries of a config on a scene.
type decider struct {
	in    Input
	scene *scene
	found *problems
}
