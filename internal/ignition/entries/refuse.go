package entries

import (
	"regexp"
	"strings"

	"github.com/coreos/ignition/v2/config/v3_6/types"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host"
)

// stateDir holds the ledger of a joined host, and applyDir that of a tree while a config is
// applied to it. A config must not modify its own rollback data.
const (
	stateDir = "/var/lib/hcp-node-agent"
	applyDir = "/.hcp-node-agent-apply"
)

// Limits of a path. The kernel's limit is 4096 bytes, including the root of the tree. The time
// to resolve a path grows with the square of its depth.
const (
	maxDepth = 128
	maxPath  = 3072
)

// forbidden reports whether a path is in a kernel file system or belongs to the agent.
func (in Input) forbidden(p string) bool {
	if p == "/" {
		return true
	}
	dirs := []string{"/proc", "/sys", "/dev", applyDir}
	if !in.Strict {
		dirs = append(dirs, stateDir)
	}
	for _, dir := range dirs {
		if host.Within(p, dir) {
			return true
		}
	}
	return false
}

// refuse adds the problems that do not depend on the tree.
func refuse(in Input, found *problems) {
	for _, section := range []struct {
		n    int
		what string
	}{
		{len(in.Storage.Disks), "partitions (storage.disks)"},
		{len(in.Storage.Raid), "RAID (storage.raid)"},
		{len(in.Storage.Luks), "encrypted disks (storage.luks)"},
		{len(in.Storage.Filesystems), "file systems (storage.filesystems)"},
	} {
		if section.n > 0 {
			found.inConfig("it has %s, which only the first boot of a machine can make", section.what)
		}
	}
	for _, node := range nodes(in.Storage) {
		switch {
		case strings.Count(node.Path, "/") > maxDepth || len(node.Path) > maxPath:
			found.inConfig("the path %.80s... has more than %d directories or %d bytes", node.Path, maxDepth, maxPath)
		case in.forbidden(node.Path):
			found.inConfig("an entry at %s is not possible", node.Path)
		}
	}
	for _, file := range in.Storage.Files {
		if _, decoded := in.Contents[file.Path]; file.Contents.Source != nil && !decoded {
			found.inConfig("the content of %s is elsewhere", file.Path)
		}
		if _, decoded := in.Appends[file.Path]; len(file.Append) > 0 && !decoded {
			found.inConfig("what is appended to %s is elsewhere", file.Path)
		}
	}
	for _, link := range in.Storage.Links {
		if link.Target == nil || *link.Target == "" {
			found.inConfig("link %s has no target", link.Path)
		}
	}
	for _, unit := range in.Units {
		refuseUnit(unit, found)
	}
}

// nodes returns all entries in Ignition's order.
func nodes(s types.Storage) []types.Node {
	list := make([]types.Node, 0, len(s.Directories)+len(s.Files)+len(s.Links))
	for _, dir := range s.Directories {
		list = append(list, dir.Node)
	}
	for _, file := range s.Files {
		list = append(list, file.Node)
	}
	for _, link := range s.Links {
		list = append(list, link.Node)
	}
	return list
}

// unitNames matches the unit names that systemd accepts. In a preset, other names are patterns:
// "enable *.service" would apply to all units.
var unitNames = regexp.MustCompile(`^[A-Za-z0-9:_.\\@-]+$`)

// refuseUnit adds problems for invalid names. A slash in a name would lead to another directory,
// and a line break to another line of the preset file.
func refuseUnit(u types.Unit, found *problems) {
	const outside = "/\n\x00"
	switch {
	case strings.ContainsAny(u.Name, outside):
		found.inConfig("unit %q has a slash or line break in its name", u.Name)
	case !unitNames.MatchString(u.Name):
		found.inConfig("unit %q has a name that systemd does not take", u.Name)
	}
	for _, dropin := range u.Dropins {
		if strings.ContainsAny(dropin.Name, outside) {
			found.inConfig("drop-in %q of unit %s has a slash or line break in its name", dropin.Name, u.Name)
		}
	}
}
