package ledger

import (
	"context"
	"errors"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostnet"
)

// Interfaces is the kind of the set of the host's network interfaces, to which CNI plugins
// add.
const Interfaces Kind = "interfaces"

// NetworkInterfaces is the driver of Interfaces. It records the existing interfaces. An
// undo deletes bridges that were added later and have no port any more, such as CNI's cni0.
// All other interfaces are deleted with their container or are foreign.
type NetworkInterfaces struct{}

// Get returns the names of the interfaces.
func (NetworkInterfaces) Get(context.Context, Change) (State, error) {
	links, err := hostnet.Links()
	if err != nil {
		return State{}, err
	}
	state := State{Present: true}
	for _, link := range links {
		state.Names = append(state.Names, link.Name)
	}
	return state, nil
}

// External marks the interfaces as externally managed.
func (NetworkInterfaces) External() {}

// Set does nothing: other components create interfaces.
func (NetworkInterfaces) Set(context.Context, Change, State) error { return nil }

// Restore deletes the unused bridges that were added.
func (NetworkInterfaces) Restore(_ context.Context, _ Change, before State) error {
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
	keep := map[string]bool{}
	for _, name := range before {
		keep[name] = true
	}
	ports := map[int]int{}
	for _, link := range links {
		ports[link.Master]++
	}
	var left []string
	for _, link := range links {
		if link.Kind == "bridge" && !keep[link.Name] && ports[link.Index] == 0 {
			left = append(left, link.Name)
		}
	}
	return left
}
