// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"context"
	"slices"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/networkmanager"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ovs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/steps"
)

// Uplink gathers the facts about the network of a host, and keeps them until they are stale.
type Uplink struct {
	// Gather gathers the facts: ovs.Gather if it is nil, as everywhere except in tests.
	Gather func(context.Context, networkmanager.Reader) (ovs.Facts, error)

	session *Session
	facts   *ovs.Facts // nil before Await, and after Forget
}

// NewUplink returns the uplink of the host of a session, without facts.
func NewUplink(s *Session) *Uplink { return &Uplink{session: s} }

// AttachesUplink reports whether the agent attaches the uplink to br-ex. On RHEL CoreOS, the payload's own
// ovs-configuration.service does so at every boot.
func (s *Session) AttachesUplink() bool {
	return s.Host.Facts.Capabilities().CreatesBridge && !slices.Contains(s.Run.Config.Skip, steps.Network)
}

func (u *Uplink) options() ovs.Options { return migrationOptions(u.session.Run.Config) }

// Await waits while NetworkManager is still activating the uplink, as after a boot. The facts about the network are
// current afterwards. It does not wait if the uplink is not needed.
func (u *Uplink) Await(ctx context.Context, log report.Log) error {
	if u.session.Host.NetworkManager == nil || !u.session.AttachesUplink() {
		return nil
	}
	return ovs.AwaitActivation(ctx, u.Refresh, u.options(), log)
}

// Facts returns the facts about the network, and gathers them if there are none.
func (u *Uplink) Facts(ctx context.Context) (ovs.Facts, error) {
	if u.facts == nil {
		gather := ovs.Gather
		if u.Gather != nil {
			gather = u.Gather
		}
		facts, err := gather(ctx, u.session.Host.NetworkManager)
		if err != nil {
			return facts, err
		}
		if u.session.AttachesUplink() {
			facts.GatherHostRules(ctx, u.options())
		}
		u.facts = &facts
	}
	return *u.facts, nil
}

// Refresh returns the current facts about the network: those of earlier steps with what these steps have changed. It
// only gathers all facts again if they are stale.
func (u *Uplink) Refresh(ctx context.Context) (ovs.Facts, error) {
	if u.facts != nil {
		stale, err := u.facts.IsStale(ctx, u.session.Host.NetworkManager)
		if err == nil && !stale {
			err = u.facts.Refresh(ctx, u.session.Host.NetworkManager)
		}
		if err != nil {
			return ovs.Facts{}, err
		}
		if stale {
			u.Forget()
		}
	}
	return u.Facts(ctx)
}

// Forget makes Facts gather all facts again, after the migration.
func (u *Uplink) Forget() { u.facts = nil }

// PlanMigration plans the migration of the uplink to br-ex, and returns the facts from which it is planned.
func (u *Uplink) PlanMigration(ctx context.Context) (ovs.Migration, ovs.Facts, error) {
	facts, err := u.Facts(ctx)
	if err != nil {
		return ovs.Migration{}, facts, err
	}
	options := u.options()
	if options.Declared, err = u.DeclaredBridge(); err != nil {
		return ovs.Migration{}, facts, err
	}
	migration, err := ovs.Plan(facts, options)
	return migration, facts, err
}

// CheckAccess returns an error if the packet filter would accept no new SSH connections after the migration.
func (u *Uplink) CheckAccess(ctx context.Context) error {
	facts, err := u.Facts(ctx)
	if err != nil {
		return err
	}
	return ovs.CheckAccess(facts, u.options())
}

// Check returns the migration, and an error if br-ex does not exist and cannot be created. If installsPackages is true
// and the packages step is to install what the migration needs, that step checks the uplink.
func (u *Uplink) Check(ctx context.Context, installsPackages bool) (ovs.Migration, error) {
	if u.session.Host.NetworkManager == nil || !u.session.Host.Facts.Capabilities().CreatesBridge {
		// The check for NetworkManager reports this; on RHEL CoreOS, the agent does not create br-ex.
		return ovs.Migration{}, nil
	}
	facts, err := u.Facts(ctx)
	if err == nil {
		err = ovs.CheckAccess(facts, u.options()) // also before packages are installed
	}
	if err != nil || (installsPackages && u.session.lacksOpenVSwitch(facts)) {
		return ovs.Migration{}, err
	}
	return ovs.Plan(facts, u.options())
}
