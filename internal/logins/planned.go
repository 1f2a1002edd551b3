// SPDX-License-Identifier: Apache-2.0

package logins

import (
	"bytes"
	"context"
	"maps"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostfs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostinfo"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostnet"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/systemd"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// Planned describes the changes of a payload to this host.
type Planned struct {
	Host         hostfs.Reader
	Files, Units []ledger.Change
	UnitState    func(name string) systemd.UnitState
}

// CheckPlanned returns findings about logins to this host that planned changes prevent.
func CheckPlanned(ctx context.Context, p Planned) []report.Finding {
	before, after, changed := p.trees()
	for _, name := range Units() {
		if p.endsUnit(name) && (p.UnitState(name).File == "enabled" || p.UnitState(name).Active == "active") {
			changed = append(changed, name)
		}
	}
	if len(changed) == 0 {
		return nil
	}
	return Check(ctx, Input{
		Before: before, After: after, Changed: changed, From: administratorAddress(),
		Administrator: os.Getenv("SUDO_USER"), Exists: hostinfo.HasDevice,
	})
}

// trees returns the file tree of the host without and with the planned files, and the files on which logins depend and
// whose contents change, sorted.
func (p Planned) trees() (before, after plannedTree, changed []string) {
	before, after = plannedTree{host: p.Host}, plannedTree{host: p.Host, planned: map[string]ledger.State{}}
	for _, change := range p.Files {
		if change.Kind == ledger.File || change.Kind == ledger.Symlink {
			after.planned[change.Target] = change.Desired
		}
	}
	for _, name := range slices.Sorted(maps.Keys(after.planned)) {
		if !Concerns(name) {
			continue
		}
		old, existed := before.ReadFile(name)
		planned, exists := after.ReadFile(name)
		if existed != exists || !bytes.Equal(old, planned) {
			changed = append(changed, name)
		}
	}
	return before, after, changed
}

// endsUnit reports whether the changes disable or mask a unit.
func (p Planned) endsUnit(name string) bool {
	isDisabled := func(c ledger.Change) bool { return c.Target == name && c.Desired.Enabled == "disabled" }
	isMasked := func(c ledger.Change) bool {
		return c.Target == "/etc/systemd/system/"+name && c.Kind == ledger.Symlink && c.Desired.Link == "/dev/null"
	}
	return slices.ContainsFunc(p.Units, isDisabled) || slices.ContainsFunc(p.Files, isMasked)
}

// plannedTree is the file tree of the host with planned files and links.
type plannedTree struct {
	host    hostfs.Reader
	planned map[string]ledger.State // by path
}

// ReadFile returns the content of a file. It follows links, also those of files that are not planned.
func (t plannedTree) ReadFile(p string) ([]byte, bool) {
	for range 10 { // more links indicate a loop
		state, isPlanned := t.planned[p]
		switch {
		case !isPlanned:
			info, err := t.host.Lstat(p)
			if err != nil || info.Type != hostfs.Symlink {
				return hostfs.ReadFollowing(t.host, p)
			}
			state.Link = info.Link
		case !state.Present:
			return nil, false
		case state.Link == "":
			return state.Content, true
		}
		if !path.IsAbs(state.Link) {
			state.Link = path.Join(path.Dir(p), state.Link)
		}
		p = state.Link
	}
	return nil, false
}

// ReadDir returns the names in a directory, sorted.
func (t plannedTree) ReadDir(p string) []string {
	names, _ := t.host.ReadDir(p)
	for target, state := range t.planned {
		base := path.Base(target)
		if path.Dir(target) != p {
			continue
		}
		names = slices.DeleteFunc(names, func(name string) bool { return name == base })
		if state.Present {
			names = append(names, base)
		}
	}
	slices.Sort(names)
	return names
}

// administratorAddress returns the address from which the administrator is logged in, or else that of the default
// gateway, which is in the network of the host.
func administratorAddress() string {
	if peer := strings.Fields(os.Getenv("SSH_CONNECTION")); len(peer) > 0 {
		return peer[0]
	}
	routes, err := hostnet.DefaultRoutes()
	if err == nil && len(routes) > 0 && routes[0].Gateway.IsValid() {
		return routes[0].Gateway.String()
	}
	return "127.0.0.1"
}
