// SPDX-License-Identifier: Apache-2.0

package plan

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
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
	"github.com/hcp-node-agent/hcp-node-agent/internal/logins"
	"github.com/hcp-node-agent/hcp-node-agent/internal/preflight"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// CheckLogins returns findings about logins to this host that the plan prevents, also because the uplink is lost. On
// RHEL CoreOS, whose logins the payload was written for, and if the administrator ignores them, they do not refuse the
// join.
func (s *Session) CheckLogins(ctx context.Context, uplink *Uplink, p *Plan) []report.Finding {
	after, changed := plannedLogins(p, s.Host.Files)
	states := unitStates(ctx, s.Host.Units)
	for _, name := range logins.Units() {
		if p.endsUnit(name) && (states(name).File == "enabled" || states(name).Active == "active") {
			changed = append(changed, name)
		}
	}
	findings := append(checkUplinkFiles(p, uplink.facts), checkUplinkSettings(p, uplink.facts)...)
	if len(changed) > 0 {
		findings = append(logins.Check(ctx, logins.Input{
			Before: loginTree{host: s.Host.Files}, After: after, Changed: changed, From: administratorAddress(),
			Administrator: os.Getenv("SUDO_USER"), Exists: hostinfo.HasDevice,
		}), findings...)
	}
	result := preflight.Result{Findings: findings}
	if !s.Host.Facts.Capabilities().HasLogins || s.Run.Config.IgnoreLogins {
		result = result.WithoutRefusal()
	}
	return result.Findings
}

// plannedLogins returns the file tree with the planned files, and the files on which logins depend and whose
// contents change, sorted.
func plannedLogins(p *Plan, host hostfs.Reader) (loginTree, []string) {
	before, after := loginTree{host: host}, loginTree{host: host, planned: map[string]ledger.State{}}
	for _, change := range p.Files {
		if change.Kind == ledger.File || change.Kind == ledger.Symlink {
			after.planned[change.Target] = change.Desired
		}
	}
	var changed []string
	for _, name := range slices.Sorted(maps.Keys(after.planned)) {
		if !logins.Concerns(name) {
			continue
		}
		old, existed := before.ReadFile(name)
		planned, exists := after.ReadFile(name)
		if existed != exists || !bytes.Equal(old, planned) {
			changed = append(changed, name)
		}
	}
	return after, changed
}

// endsUnit reports whether the plan disables or masks a unit.
func (p *Plan) endsUnit(name string) bool {
	isDisabled := func(c ledger.Change) bool { return c.Target == name && c.Desired.Enabled == "disabled" }
	isMasked := func(c ledger.Change) bool {
		return c.Target == "/etc/systemd/system/"+name && c.Kind == ledger.Symlink && c.Desired.Link == "/dev/null"
	}
	return slices.ContainsFunc(p.Units, isDisabled) || slices.ContainsFunc(p.Files, isMasked)
}

// loginTree is the file tree of the host with planned files and links.
type loginTree struct {
	host    hostfs.Reader
	planned map[string]ledger.State // by path
}

// ReadFile returns the content of a file. It follows links, also those of files that are not planned.
func (t loginTree) ReadFile(p string) ([]byte, bool) {
	for range 10 { // more links indicate a loop
		state, isPlanned := t.planned[p]
		switch {
		case !isPlanned:
			info, err := t.host.Lstat(p)
			if err != nil || info.Type != hostfs.Symlink {
				return readFile(t.host, p)
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
func (t loginTree) ReadDir(p string) []string {
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
