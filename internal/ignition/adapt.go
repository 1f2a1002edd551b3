package ignition

import (
	"fmt"
	"slices"
	"strings"

	"github.com/coreos/ignition/v2/config/v3_6/types"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// KubeletUnit is the unit whose enablement is kept apart: kubelet must not
// start, at a reboot in the middle of a join, before the node has an identity.
const KubeletUnit = "kubelet.service"

// AdaptInput is what the decisions need to know of the host. A function that
// is nil answers as a host would that has everything, and no other names than
// root's.
type AdaptInput struct {
	Facts    host.Facts
	Hosted   bool   // the payload is a NodePool's, not a standalone cluster's
	NodePool string // NAMESPACE/NAME, for the plan to say

	HasUnit   func(name string) bool   // a unit file of that name exists on the host
	UnitFile  func(name string) string // what `systemctl is-enabled` says of it: "enabled", "static", ...; "" when there is none
	HasSysctl func(name string) bool   // the running kernel has that parameter; Name has dots
	HasModule func(name string) bool   // the kernel module is built in, loaded or can be loaded
	User      Lookup                   // in the host's passwd(5)
	Group     Lookup                   // in the host's group(5)
}

// Adapt decides what of a payload is done on a host, and how. It looks at
// nothing but its arguments and changes nothing. What the agent cannot do at
// all (disks, users, contents that are elsewhere) is an error that names every
// such thing, so that it is known before anything is written.
func Adapt(p *Payload, in AdaptInput) (*Plan, error) {
	if err := refuse(p, true); err != nil {
		return nil, err
	}
	s := newScene(p, in)
	if _, err := p.kubelet(); err != nil {
		return nil, report.Fail(report.Usage, "look at the KubeletConfigs of the NodePool", "adapting payload: %w", err)
	}
	files, err := storage(p, owners{in.User, in.Group})
	if err != nil {
		return nil, report.Fail(report.Usage, "create it, or correct the MachineConfig of the NodePool", "adapting payload: %w", err)
	}
	s.plan.NodePool = in.NodePool
	s.users()
	s.files(files)
	s.units()
	s.additions()
	s.plan.Files = append(s.plan.Files, preset(s.plan.Units)...)
	s.kernel()
	s.unmet()
	s.missing()
	return s.plan, nil
}

// Verbatim is the payload as Ignition itself would write it, with nothing left
// out, changed or added: for a directory tree that becomes an image.
func Verbatim(p *Payload, user, group Lookup) ([]ledger.Change, error) {
	if err := refuse(p, false); err != nil {
		return nil, err
	}
	changes, err := storage(p, owners{user, group})
	if err != nil {
		return nil, report.Fail(report.Usage, "create it below the root, or give its number in the config", "reading config: %w", err)
	}
	var enablements []ledger.Change
	for _, u := range p.Config.Systemd.Units {
		changes = append(changes, unitFiles(u)...)
		if enabled(u) { // a disabled unit is listed only where it was enabled before
			enablements = append(enablements, enablement(u))
		}
	}
	return append(changes, preset(enablements)...), nil
}

// refuse names what of a payload cannot be done.
func refuse(p *Payload, adapting bool) error {
	list := slices.Clone(p.remote)
	add := func(n int, what string) {
		if n > 0 {
			list = append(list, what)
		}
	}
	storage, passwd := p.Config.Storage, p.Config.Passwd
	add(len(storage.Disks), "partitions (storage.disks)")
	add(len(storage.Raid), "RAID (storage.raid)")
	add(len(storage.Luks), "encrypted disks (storage.luks)")
	add(len(storage.Filesystems), "file systems (storage.filesystems)")
	add(len(passwd.Groups), "groups (passwd.groups)")
	for _, user := range passwd.Users {
		if !adapting || user.Name != coreUser {
			list = append(list, fmt.Sprintf("user %s (passwd.users)", user.Name))
		}
	}
	for _, file := range storage.Files {
		add(len(file.Append), fmt.Sprintf("what is appended to %s", file.Path))
		list = append(list, forbidden(file.Node)...)
	}
	for _, dir := range storage.Directories {
		list = append(list, forbidden(dir.Node)...)
	}
	for _, link := range storage.Links {
		list = append(list, forbidden(link.Node)...)
	}
	for _, u := range p.Config.Systemd.Units {
		names := []string{u.Name}
		for _, dropin := range u.Dropins {
			names = append(names, dropin.Name)
		}
		if slices.ContainsFunc(names, func(name string) bool { return strings.Contains(name, "/") }) {
			list = append(list, fmt.Sprintf("unit %q, whose name or drop-in has a slash in it", u.Name))
		}
	}
	if len(list) == 0 {
		return nil
	}
	return report.Fail(report.Usage, "take it out of the MachineConfigs of the NodePool (spec.config), or do it on the host by other means first",
		"the payload has what this version cannot do, and nothing was changed: %s", strings.Join(list, "; "))
}

// forbidden names an entry that would not be a file of the host, or would
// overwrite the record of what the host was like before.
func forbidden(node types.Node) []string {
	for _, dir := range []string{"/proc", "/sys", "/dev", "/var/lib/hcp-node-agent"} {
		if host.Within(node.Path, dir) {
			return []string{fmt.Sprintf("an entry at %s", node.Path)}
		}
	}
	return nil
}
