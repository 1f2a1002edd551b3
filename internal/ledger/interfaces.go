package ledger

import (
	"context"
	"errors"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host"
)

// Interfaces is the kind of the machine's network interfaces as a whole, which
// CNI plugins add to.
const Interfaces Kind = "interfaces"

// NetworkInterfaces is the driver of Interfaces: it records which there are,
// and an undo deletes the bridges that came since and have no port any more,
// as CNI's cni0. Everything else either goes with its container or belongs to
// somebody.
type NetworkInterfaces struct{}

// Look lists the names of the interfaces.
func (NetworkInterfaces) Look(context.Context, Change) (State, error) {
	links, err := host.Links()
	if err != nil {
		return State{}, err
	}
	state := State{Present: true}
	for _, link := range links {
		state.Names = append(state.Names, link.Name)
	}
	return state, nil
}

// Bracketed says that others make them.
func (NetworkInterfaces) Bracketed() {}

// Make does nothing: others make them.
func (NetworkInterfaces) Make(context.Context, Change, State) error { return nil }

// Restore deletes the empty bridges that came since.
func (NetworkInterfaces) Restore(_ context.Context, _ Change, before State) error {
	links, err := host.Links()
	if err != nil {
		return err
	}
	var errs []error
	for _, name := range leftBridges(links, before.Names) {
		errs = append(errs, host.DeleteLink(name))
	}
	return errors.Join(errs...)
}

func leftBridges(links []host.Link, before []string) []string {
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
