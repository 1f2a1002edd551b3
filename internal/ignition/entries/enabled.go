package entries

import (
	"path"
	"slices"
	"strings"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host"
)

// enabled tells whether `systemctl --root is-enabled` would succeed for a unit,
// which it does for all but masked, linked and disabled ones: also for units
// without install rules (static) and for aliases. Read from systemd's install.c
// (252, with UpheldBy= of 254), and measured.
func (s *scene) enabled(name string) (*unitInfo, bool, error) {
	u, err := s.findUnit(name)
	if err != nil || u == nil || u.masked {
		return u, false, err
	}
	_, _, instance := cutInstance(u.name)
	if path.Base(u.path) != name && !instance {
		return u, true, nil // alias
	}
	for _, anyName := range []bool{false, true} {
		found, err := s.linked(u, anyName)
		if err != nil {
			return nil, false, err
		}
		switch found {
		case linkEnables:
			return u, true, nil
		case linkOfSameName:
			return u, anyName, nil
		}
	}
	rules := len(u.aliases)
	for _, by := range u.wanted {
		rules += len(by)
	}
	return u, rules == 0, nil // static, or indirect by Also=
}

// found is what the links in the search path say of a unit.
type found int

const (
	linkNone found = iota
	linkEnables
	linkOfSameName // the unit file itself is one
)

// linked looks for links that enable a unit: under the names that its install
// rules make, or under any name.
func (s *scene) linked(u *unitInfo, anyName bool) (found, error) {
	_, _, instance := cutInstance(u.name)
	below, vendor, sameName := false, false, false
	for _, dir := range searchPath() {
		dir, err := s.follow(dir)
		if err != nil {
			return linkNone, err
		}
		in, same, err := s.linkedIn(dir, u, anyName, below)
		if err != nil {
			return linkNone, err
		}
		switch {
		case in && (dir == UnitDir || dir == runtimeDir):
			return linkEnables, nil
		case in:
			vendor = true
		case same && (dir == UnitDir || dir == runtimeDir):
			sameName = true
		}
		below = below || host.Within(u.path, dir)
	}
	switch {
	case vendor && instance:
		return linkEnables, nil
	case sameName:
		return linkOfSameName, nil
	}
	return linkNone, nil
}

// linkedIn looks in one directory and in those below it that units want their
// units by. In a directory that is less important than that of the unit file,
// what has the unit's name is not about it (below).
func (s *scene) linkedIn(dir string, u *unitInfo, anyName, below bool) (in, sameName bool, err error) {
	names, err := s.names(dir)
	if err != nil {
		return false, false, err
	}
	for _, name := range names {
		n, err := s.lstat(path.Join(dir, name))
		if err != nil {
			return false, false, err
		}
		if n.kind == host.Directory && slices.Contains([]string{".wants", ".requires", ".upholds"}, path.Ext(name)) {
			wanted, err := s.names(path.Join(dir, name))
			if err != nil {
				return false, false, err
			}
			for _, wish := range wanted {
				link, err := s.lstat(path.Join(dir, name, wish))
				if err != nil {
					return false, false, err
				}
				template, _, _ := cutInstance(wish)
				about := wish == u.name || template == u.name
				if link.kind == host.Symlink && about && (anyName || u.knows(wish)) {
					return true, false, nil
				}
			}
		}
		if n.kind != host.Symlink {
			continue
		}
		byName, byTarget := name == u.name && !below, path.Base(n.link) == u.name
		if byName && byTarget {
			sameName = true
			continue
		}
		in = in || ((byName || byTarget) && (anyName || u.knows(name)))
	}
	return in, sameName, nil
}

// knows tells whether a link of this name is one that enabling the unit makes.
func (u *unitInfo) knows(name string) bool {
	if name == u.name || slices.Contains(u.aliases, name) {
		return true
	}
	stem, suffix, template := strings.Cut(u.name, "@.")
	return template && u.defaultInstance != "" && name == stem+"@"+u.defaultInstance+"."+suffix
}

// systemctlName is what systemctl makes of an argument that is no unit name, as
// the units of a preset line are: Ignition passes them as one.
func systemctlName(units string) string {
	if !strings.Contains(units, " ") {
		return units
	}
	return strings.ReplaceAll(units, " ", `\x20`) + ".service"
}
