package entries

import (
	"path"
	"slices"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host"
)

// disable does what `systemctl --root disable` would do, if the unit is
// enabled, and tells whether it was: the links in /etc that name the unit, an
// instance of it, or one of the units that it lists with Also=, go, and so do
// the directories that are empty then.
func (s *scene) disable(name string) (bool, error) {
	_, enabled, err := s.enabled(name)
	if err != nil || !enabled {
		return false, err
	}
	marked, err := s.marked(name)
	if err != nil {
		return false, err
	}
	dir, err := s.follow(UnitDir)
	if err != nil {
		return false, err
	}
	why := "disabled " + name
	links, err := s.linksTo(dir, marked)
	if err != nil {
		return false, err
	}
	for _, link := range links {
		if err := s.unlink(link, dir, why); err != nil {
			return false, err
		}
	}
	return true, nil
}

// marked are the units that are disabled together with one.
func (s *scene) marked(name string) ([]string, error) {
	var marked []string
	known := map[string]bool{}
	for todo := []string{name}; len(todo) > 0; todo = todo[1:] {
		if known[todo[0]] {
			continue
		}
		known[todo[0]] = true
		u, err := s.findUnit(todo[0])
		switch {
		case err != nil:
			return nil, err
		case u == nil:
			marked = append(marked, todo[0])
		case !u.masked:
			marked = append(marked, u.name)
			todo = append(todo, u.also...)
		}
	}
	return marked, nil
}

// linksTo lists the links in a directory, and in all below it, that are named
// like a marked unit or lead to one.
func (s *scene) linksTo(dir string, marked []string) ([]string, error) {
	names, err := s.names(dir)
	if err != nil {
		return nil, err
	}
	var links []string
	for _, name := range names {
		p := path.Join(dir, name)
		n, err := s.lstat(p)
		if err != nil {
			return nil, err
		}
		switch {
		case n.kind == host.Directory:
			below, err := s.linksTo(p, marked)
			if err != nil {
				return nil, err
			}
			links = append(links, below...)
		case n.kind == host.Symlink && isUnitName(name):
			target, err := s.follow(p)
			if err != nil {
				return nil, err
			}
			template, _, _ := cutInstance(name)
			if slices.ContainsFunc([]string{name, template, path.Base(target)}, func(u string) bool { return slices.Contains(marked, u) }) {
				links = append(links, p)
			}
		}
	}
	return links, nil
}

// unlink removes a link, and the directories above it that are empty then.
func (s *scene) unlink(p, top, why string) error {
	if err := s.remove(p, why); err != nil {
		return err
	}
	for dir := path.Dir(p); dir != top; dir = path.Dir(dir) {
		left, err := s.names(dir)
		if err != nil || len(left) > 0 {
			return err
		}
		if err := s.remove(dir, why); err != nil {
			return err
		}
	}
	return nil
}
