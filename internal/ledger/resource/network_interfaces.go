// SPDX-License-Identifier: Apache-2.0

package resource

import (
	"context"
	"errors"
	"slices"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostnet"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
)

// NetworkInterfaces is a snapshot of the host's network interfaces. An undo deletes bridges
// that were added later and have no port any more, such as CNI's cni0. All other interfaces
// are deleted with their container or are foreign.
type NetworkInterfaces struct{}

// Get returns the names of the interfaces.
func (NetworkInterfaces) Get(context.Context, ledger.Change) (ledger.State, error) {
	links, err := hostnet.Links()
	if err != nil {
		return ledger.State{}, err
	}
	state := ledger.State{Present: true}
	for _, link := range links {
		state.Names = append(state.Names, link.Name)
	}
	return state, nil
}

// Restore deletes the unused bridges that were added.
func (NetworkInterfaces) Restore(_ context.Context, _ ledger.Change, before ledger.State) error {
	links, err := hostnet.Links()
	if err != nil {
		return err
	}
	var errs []error
	for _, name := range unusedNewBridges(links, before.Names) {
		errs = append(errs, hostnet.DeleteLink(name))
	}
	return errors.Join(errs...)
}

func unusedNewBridges(links []hostnet.Link, before []string) []string {
	ports := map[int]int{}
	for _, link := range links {
		ports[link.Master]++
	}
	var unused []string
	for _, link := range links {
		if link.Kind == "bridge" && !slices.Contains(before, link.Name) && ports[link.Index] == 0 {
			unused = append(unused, link.Name)
		}
	}
	return unused
}
