package ignition

import (
	"fmt"
	"slices"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition/accounts"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition/entries"
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
	// Drop are patterns of what is left out: of absolute paths, of units, of
	// UNIT/DROP-IN. See package glob.
	Drop []string

	Tree        Tree   // the host's files
	User, Group Lookup // in the host's passwd(5) and group(5)

	HasUnit   func(name string) bool   // a unit file of that name exists on the host
	UnitFile  func(name string) string // what `systemctl is-enabled` says of it: "enabled", "static", ...; "" when there is none
	HasSysctl func(name string) bool   // the running kernel has that parameter; Name has dots
	HasModule func(name string) bool   // the kernel module is built in, loaded or can be loaded
}

// Tree is where the files are looked at that are there already.
type Tree = entries.Tree

// Lookup finds the number of a user or group by its name.
type Lookup = entries.Lookup

// Adapt decides what of a payload is done on a host, and how. It looks at
// nothing but its arguments and changes nothing. What the agent cannot do at
// all (disks, payloads of another platform, entries that the host's files stand in the way of) is an error
// that names every such thing, so that it is known before anything is written.
func Adapt(p *Payload, in AdaptInput) (*Plan, error) {
	if err := refuseDrop(p, in.Drop); err != nil {
		return nil, err
	}
	if err := refusePlatform(p, in); err != nil {
		return nil, err
	}
	if _, err := p.kubelet(); err != nil {
		return nil, report.Fail(report.Usage, "# look at the KubeletConfigs of the pool", "adapting payload: %w", err)
	}
	s := newScene(p, in)
	s.plan.NodePool = in.NodePool
	s.accounts()
	user, group := accounts.Announced(s.plan.Accounts, orRootAlone(in.User), orRootAlone(in.Group))
	storage := s.storage()
	units, beside := s.units()
	decision, err := entries.Decide(entries.Input{
		Storage: storage, Units: units, Contents: p.contents, Appends: p.appends, Tree: in.Tree, User: user, Group: group,
	})
	if err != nil {
		return nil, fmt.Errorf("adapting payload: %w", err)
	}
	changes := decision.Changes
	for i, change := range changes {
		if rule, ruled := s.ruled[change.Target]; ruled {
			changes[i].Why = adaptedBy(rule)
		}
	}
	s.plan.Files = slices.Concat(changes, beside)
	s.overrides()
	s.unused()
	s.additions()
	s.kernel()
	s.unmet()
	s.starts()
	s.missing()
	s.plan.Commands = s.commands()
	return s.plan, nil
}

// Decision is what a payload changes in the tree of an image.
type Decision = entries.Decision

// Verbatim returns what Ignition itself would write for the payload, with nothing excluded, changed or added: for the
// tree of an image.
func Verbatim(p *Payload, tree Tree, user, group Lookup) (*Decision, error) {
	return entries.Decide(entries.Input{
		Storage: p.Config.Storage, Units: p.Config.Systemd.Units, Contents: p.contents, Appends: p.appends,
		Tree: tree, User: user, Group: group, Strict: true,
	})
}

// orRootAlone is the lookup, or one that knows root.
func orRootAlone(lookup Lookup) Lookup {
	if lookup != nil {
		return lookup
	}
	return func(name string) (int, bool) { return 0, name == "root" }
}
