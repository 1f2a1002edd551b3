package entries

import (
	"path"
	"slices"
	"strings"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host"
)

// searchPath is where systemd looks for unit files below a root, the most
// important first. What only exists while it runs (generators, transient
// units) is not in it.
func searchPath() []string {
	return []string{
		"/etc/systemd/system.control", UnitDir, "/etc/systemd/system.attached", runtimeDir,
		"/usr/local/lib/systemd/system", "/usr/lib/systemd/system",
	}
}

const runtimeDir = "/run/systemd/system"

// unitInfo is a unit file as systemd finds it.
type unitInfo struct {
	name    string // with the instance, and after aliases
	path    string // of the file
	masked  bool
	aliases []string            // of its [Install] section and those of its drop-ins
	wanted  map[string][]string // by whom, and how
	also    []string

	defaultInstance string
}

// findUnit finds a unit file by name, over links: an alias is another unit, a
// link to a file elsewhere is that file. Nothing found is nil.
func (s *scene) findUnit(name string) (*unitInfo, error) {
	u := &unitInfo{name: name, wanted: map[string][]string{}}
	for range mostLinks {
		file, n, err := s.searchUnit(u.name)
		if err != nil || file == "" {
			return nil, err
		}
		renamed := false
		for n.kind == host.Symlink {
			target, link := n.link, file
			if target == nowhere {
				u.path, u.masked = file, true
				return u, nil
			}
			if !path.IsAbs(target) {
				target = path.Join(path.Dir(file), target)
			}
			if file, err = s.resolve(target); err != nil {
				return nil, err
			}
			if inSearchPath(file) {
				if !validAlias(path.Base(link), path.Base(file)) {
					return nil, nil
				}
				u.name, renamed = withInstance(path.Base(file), u.name), true
				break
			}
			if n, err = s.lstat(file); err != nil {
				return nil, err
			}
		}
		if renamed {
			continue
		}
		return s.loadUnit(u, file, n)
	}
	return nil, nil
}

func inSearchPath(file string) bool {
	return slices.ContainsFunc(searchPath(), func(dir string) bool { return host.Within(file, dir) })
}

// searchUnit finds the path of a unit file, of an instance else that of its
// template.
func (s *scene) searchUnit(name string) (string, *node, error) {
	names := []string{name}
	if template, _, is := cutInstance(name); is {
		names = append(names, template)
	}
	for _, name := range names {
		for _, dir := range searchPath() {
			file, err := s.resolve(path.Join(dir, name))
			if err != nil {
				return "", nil, err
			}
			n, err := s.lstat(file)
			if err != nil {
				return "", nil, err
			}
			if n.kind != host.Absent {
				return path.Join(dir, name), n, nil
			}
		}
	}
	return "", nil, nil
}

// loadUnit reads the install rules of a unit file and its drop-ins. An empty
// file masks.
func (s *scene) loadUnit(u *unitInfo, file string, n *node) (*unitInfo, error) {
	if n.kind != host.Regular {
		return nil, nil
	}
	content, err := s.read(n)
	if err != nil {
		return nil, err
	}
	u.path, u.masked = file, len(content) == 0
	u.install(content)
	if u.masked {
		return u, nil
	}
	dropins, readable, err := s.dropins(u.name)
	if err != nil || !readable {
		return nil, err
	}
	for _, content := range dropins {
		u.install(content)
	}
	return u, nil
}

// dropins reads the drop-ins of a unit, by name; of those of one name the most
// important counts. One that cannot be read hides the unit.
func (s *scene) dropins(unit string) (contents [][]byte, readable bool, err error) {
	dirs := []string{unit + ".d"}
	if template, _, is := cutInstance(unit); is {
		dirs = append(dirs, template+".d")
	}
	first := map[string]string{}
	var names []string
	for _, dropinDir := range dirs {
		for _, dir := range searchPath() {
			dir, err := s.follow(path.Join(dir, dropinDir))
			if err != nil {
				return nil, false, err
			}
			list, err := s.names(dir)
			if err != nil {
				return nil, false, err
			}
			for _, name := range list {
				if _, seen := first[name]; !seen && strings.HasSuffix(name, ".conf") {
					first[name], names = path.Join(dir, name), append(names, name)
				}
			}
		}
	}
	slices.Sort(names)
	for _, name := range names {
		real, err := s.follow(first[name])
		if err != nil {
			return nil, false, err
		}
		n, err := s.lstat(real)
		if err != nil {
			return nil, false, err
		}
		switch n.kind {
		case host.Regular:
		case host.Other:
			continue // the null device, which masks a drop-in
		default:
			return nil, false, nil
		}
		content, err := s.read(n)
		if err != nil {
			return nil, false, err
		}
		contents = append(contents, content)
	}
	return contents, true, nil
}
