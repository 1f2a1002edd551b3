// SPDX-License-Identifier: Apache-2.0

package entries

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/coreos/ignition/v2/config/v3_6/types"
	"k8s.io/utils/ptr"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostfs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// problems collects all problems, to report them in one error.
type problems struct {
	config []string // problems of the config
	tree   []string // obstacles in the tree
	disks  []string // sections of the config that only the first boot of a machine applies
	link   string   // the first path below a symbolic link that is not followed
}

func (p *problems) addConfig(format string, args ...any) {
	p.config = append(p.config, fmt.Sprintf(format, args...))
}

func (p *problems) addTree(format string, args ...any) {
	p.tree = append(p.tree, fmt.Sprintf(format, args...))
}

func (p *problems) hasAny() bool { return len(p.config)+len(p.disks)+len(p.tree) > 0 }

func (p *problems) asFailure() error {
	code, remedy := report.Failed, report.Remedy(
		"# move the existing files away, or set overwrite: true for the entries in the config")
	if p.link != "" {
		remedy = report.Remedyf("namei -l %s # lists the owner of each path component; "+
			"replace the link with a directory, or change the path in the config", report.ShellWord(p.link))
	}
	switch {
	case len(p.config) > 0:
		code, remedy = report.Usage, "# correct the entries in the config"
	case len(p.disks) > 0:
		code, remedy = report.Usage, "# use the user data of a NodePool without these sections, or remove them from the "+
			"MachineConfigs of this one (spec.config); the disks of this host are those of its installation"
	}
	return report.Fail(code, remedy, "the config cannot be applied, nothing was changed: %s",
		report.AbbreviateList(slices.Concat(p.config, p.disks, p.tree)))
}

// obstacle is a file in the tree that prevents an entry.
type obstacle struct {
	text string
	link string // path on the running host, if a link in its parents is not followed
}

func (o *obstacle) Error() string { return o.text }

func newObstacle(format string, args ...any) error {
	return &obstacle{text: fmt.Sprintf(format, args...)}
}

// linkObstacle returns an obstacle for an error about a symbolic link above p that is not
// followed, and other errors unchanged.
func linkObstacle(p string, err error) error {
	var unsafe *hostfs.UnsafeLinkError
	if !errors.As(err, &unsafe) {
		return err
	}
	return &obstacle{text: fmt.Sprintf("%s: %v", p, err), link: unsafe.Path}
}

// collect collects an obstacle and returns nil. It returns other errors unchanged, because they end
// the decision.
func (p *problems) collect(err error) error {
	var o *obstacle
	if errors.As(err, &o) {
		p.addTree("%s", o.text)
		p.link = cmp.Or(p.link, o.link)
		return nil
	}
	return err
}

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

// isForbidden reports whether a path is in a kernel file system or belongs to the agent.
func (in Input) isForbidden(p string) bool {
	if p == "/" {
		return true
	}
	dirs := []string{"/proc", "/sys", "/dev", applyDir}
	if !in.Strict {
		dirs = append(dirs, stateDir)
	}
	return slices.ContainsFunc(dirs, func(dir string) bool { return hostfs.IsWithin(p, dir) })
}

// checkConfig adds the problems that do not depend on the tree.
func checkConfig(in Input, found *problems) {
	for _, section := range []struct {
		n    int
		what string
	}{
		{len(in.Storage.Disks), "partitions (storage.disks)"},
		{len(in.Storage.Raid), "RAID (storage.raid)"},
		{len(in.Storage.Luks), "encrypted disks (storage.luks)"},
		{len(in.Storage.Filesystems), "file systems (storage.filesystems)"},
	} {
		text := fmt.Sprintf("the config has %s, which can only be created at the first boot of a machine", section.what)
		switch {
		case section.n == 0 || in.Provisioned:
		case in.Strict:
			found.config = append(found.config, text)
		default:
			found.disks = append(found.disks, text)
		}
	}
	for _, node := range Nodes(in.Storage) {
		switch {
		case strings.Count(node.Path, "/") > maxDepth || len(node.Path) > maxPath:
			found.addConfig("the path %.80s... has more than %d directories or %d bytes", node.Path, maxDepth, maxPath)
		case strings.Contains(node.Path, "\x00"):
			found.addConfig("the path %q contains a NUL byte", node.Path)
		case in.isForbidden(node.Path):
			found.addConfig("an entry at %s is not allowed", node.Path)
		}
	}
	for _, file := range in.Storage.Files {
		if _, decoded := in.Contents[file.Path]; file.Contents.Source != nil && !decoded {
			found.addConfig("the content of %s is not included in the config", file.Path)
		}
		if _, decoded := in.Appends[file.Path]; len(file.Append) > 0 && !decoded {
			found.addConfig("the appended content of %s is not included in the config", file.Path)
		}
	}
	for _, link := range in.Storage.Links {
		switch target := ptr.Deref(link.Target, ""); {
		case target == "":
			found.addConfig("link %s has no target", link.Path)
		case strings.Contains(target, "\x00"):
			found.addConfig("the target %q of link %s contains a NUL byte", target, link.Path)
		}
	}
	for _, unit := range in.Units {
		checkUnit(unit, found)
	}
}

// Nodes returns all entries of a config in Ignition's order.
func Nodes(s types.Storage) []types.Node {
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

// unitNamePattern matches the unit names that systemd accepts. In a preset, other names are patterns:
// "enable *.service" would apply to all units.
var unitNamePattern = regexp.MustCompile(`^[A-Za-z0-9:_.\\@-]+$`)

// checkUnit adds problems for invalid names. A slash in a name would lead to another directory,
// and a line break to another line of the preset file.
func checkUnit(u types.Unit, found *problems) {
	const outside = "/\n\x00"
	switch {
	case strings.ContainsAny(u.Name, outside):
		found.addConfig("the name of unit %q contains a slash or line break", u.Name)
	case !unitNamePattern.MatchString(u.Name):
		found.addConfig("unit %q has a name that systemd does not accept", u.Name)
	}
	for _, dropin := range u.Dropins {
		if strings.ContainsAny(dropin.Name, outside) {
			found.addConfig("the name of drop-in %q of unit %s contains a slash or line break", dropin.Name, u.Name)
		}
	}
}
