package ignition

import (
	"fmt"
	"path"
	"sort"
	"strings"

	"github.com/coreos/ignition/v2/config/v3_6/types"

	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
)

// Lookup finds the number of a user or group by its name.
type Lookup func(name string) (id int, ok bool)

// ParseNames reads the names and numbers of passwd(5) or group(5), which have
// the same columns for them. Ignition too reads the files below the root it
// writes to, not the running system's other sources of names.
func ParseNames(content []byte) Lookup {
	numbers := map[string]int{}
	for line := range strings.Lines(string(content)) {
		fields := strings.Split(strings.TrimSpace(line), ":")
		if len(fields) < 3 {
			continue
		}
		var number int
		if _, err := fmt.Sscanf(fields[2], "%d", &number); err == nil {
			numbers[fields[0]] = number
		}
	}
	return func(name string) (int, bool) {
		number, ok := numbers[name]
		return number, ok
	}
}

// owners looks names up in the host's files.
type owners struct{ user, group Lookup }

// storage turns the directories, files and links of a payload into changes, in
// Ignition's order: by depth, hard links last. Where the payload is silent,
// files get 0644 and root: what is there already is replaced as a whole, with
// its original kept by the ledger, as the machine-config-daemon does too.
func storage(p *Payload, names owners) ([]ledger.Change, error) {
	var changes, hard []ledger.Change
	for _, dir := range p.Config.Storage.Directories {
		want := ledger.State{Present: true}
		if dir.Mode != nil {
			want.Mode = mode(*dir.Mode)
		}
		if err := names.own(&want, dir.Node); err != nil {
			return nil, err
		}
		changes = append(changes, ledger.Change{Kind: ledger.Directory, Target: dir.Path, Why: fromPayload, Want: want})
	}
	for _, file := range p.Config.Storage.Files {
		want := ledger.FileState(p.contents[file.Path], fileMode(file))
		if file.Contents.Source == nil {
			want = ledger.State{Present: true} // a file that is there keeps its content
			if file.Mode != nil {
				want.Mode = mode(*file.Mode)
			}
		}
		if err := names.own(&want, file.Node); err != nil {
			return nil, err
		}
		changes = append(changes, ledger.Change{
			Kind: ledger.File, Target: file.Path, Why: fromPayload, Want: want,
			Overwrite: overwrites(file.Node) || file.Contents.Source == nil,
		})
	}
	for _, link := range p.Config.Storage.Links {
		change := ledger.Change{
			Kind: ledger.Link, Target: link.Path, Why: fromPayload, Want: ledger.State{Present: true, Link: text(link.Target)},
			Overwrite: overwrites(link.Node),
		}
		if link.Hard != nil && *link.Hard {
			change.Kind = ledger.HardLink
			hard = append(hard, change)
			continue
		}
		if err := names.own(&change.Want, link.Node); err != nil {
			return nil, err
		}
		changes = append(changes, change)
	}
	byDepth(changes)
	byDepth(hard)
	return append(changes, hard...), nil
}

// fromPayload is why a change is wished that no rule has touched.
const fromPayload = "payload"

func byDepth(changes []ledger.Change) {
	sort.SliceStable(changes, func(i, j int) bool {
		a, b := path.Clean(changes[i].Target), path.Clean(changes[j].Target)
		if depth := strings.Count(a, "/") - strings.Count(b, "/"); depth != 0 {
			return depth < 0
		}
		return a < b
	})
}

func overwrites(node types.Node) bool { return node.Overwrite != nil && *node.Overwrite }

func mode(m int) *uint32 {
	bits := uint32(m) //nolint:gosec // validated: 0 to 07777
	return &bits
}

// own sets the owner that a node names, by number or by name.
func (o owners) own(want *ledger.State, node types.Node) error {
	uid, err := number(node.User.ID, node.User.Name, o.user)
	if err != nil {
		return fmt.Errorf("%s: the user %w", node.Path, err)
	}
	gid, err := number(node.Group.ID, node.Group.Name, o.group)
	if err != nil {
		return fmt.Errorf("%s: the group %w", node.Path, err)
	}
	if uid != nil {
		want.UID = uid
	}
	if gid != nil {
		want.GID = gid
	}
	return nil
}

func number(id *int, name *string, lookup Lookup) (*int, error) {
	if id != nil || name == nil || *name == "" {
		return id, nil
	}
	if *name == "root" {
		root := 0
		return &root, nil
	}
	if lookup != nil {
		if found, ok := lookup(*name); ok {
			return &found, nil
		}
	}
	return nil, fmt.Errorf("%q, who shall own it, does not exist on this host", *name)
}
