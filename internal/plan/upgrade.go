// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"context"
	"slices"

	"github.com/hcp-node-agent/hcp-node-agent/internal/crio"
	"github.com/hcp-node-agent/hcp-node-agent/internal/effects"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition/accounts"
	"github.com/hcp-node-agent/hcp-node-agent/internal/kinds"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
)

// UpgradeEffects returns how the changes of a plan take effect on the running node. software names the
// packages that are replaced.
func (s *Session) UpgradeEffects(ctx context.Context, p *Plan, software []string) (effects.Effects, error) {
	requested, err := s.requestedChanges(ctx, p)
	if err != nil {
		return nil, err
	}
	pending, err := s.Host.Ledger.Diff(ctx, requested)
	if err != nil {
		return nil, err
	}
	all := CollectEffects(pending, ObsoleteItems(s.Host.Ledger.Items(), requested), software)
	if p.Image != nil {
		all = append(all, effects.OfImage(p.Image.Image))
	}
	return all, nil
}

// Obsolete returns the objects of an earlier payload that the plan does not request any more.
func (s *Session) Obsolete(ctx context.Context, p *Plan) ([]ledger.Item, error) {
	requested, err := s.requestedChanges(ctx, p)
	if err != nil {
		return nil, err
	}
	return ObsoleteItems(s.Host.Ledger.Items(), requested), nil
}

// requestedChanges returns all changes that a plan requests of this host, except those of the network.
func (s *Session) requestedChanges(ctx context.Context, p *Plan) ([]ledger.Change, error) {
	people, err := accounts.Plan(ctx, s.Accounts(p))
	if err != nil {
		return nil, err
	}
	return p.Requested(people), nil
}

// Requested returns all changes that a plan requests with the accounts, except those of the network.
func (p *Plan) Requested(people []ledger.Change) []ledger.Change {
	return slices.Concat(people, p.Changes(), p.Kubelet, crio.Changes(p.Runtime))
}

// CollectEffects returns the effects of changes, of reverted objects and of replaced packages.
func CollectEffects(pending []ledger.PlannedChange, obsolete []ledger.Item, software []string) effects.Effects {
	var all effects.Effects
	for _, change := range pending {
		all = append(all, kinds.EffectOf(change.Change))
	}
	for _, item := range obsolete { // a replaced setting can be pending too
		all = all.Merge(effects.Effects{kinds.EffectOf(item.Change)})
	}
	for _, name := range software {
		all = append(all, effects.OfPackage(name))
	}
	return all
}
