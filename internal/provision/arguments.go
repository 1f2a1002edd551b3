// SPDX-License-Identifier: Apache-2.0

package provision

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition/adapt"
	"github.com/hcp-node-agent/hcp-node-agent/internal/joinstate"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger/resource"
)

// formerArguments are the kernel arguments that were set in the booted deployment for earlier payloads, in the order in
// which they are reverted.
type formerArguments []joinstate.ImageArguments

// formerArguments returns the kernel arguments that the agent has set: those in the ledger, and before them those that
// were set with the image. At its first boot, RHEL CoreOS has set the arguments of its MachineConfig, which it keeps as
// a file.
func (i HostImage) formerArguments(images joinstate.Images) (formerArguments, error) {
	var former formerArguments
	for _, item := range i.Host.Ledger.Items() {
		if item.Kind != ledger.KernelArguments {
			continue
		}
		set, err := resource.DecodeArguments(item.Change)
		if err != nil {
			return nil, err
		}
		former = append(former, joinstate.ImageArguments{Set: set, Before: item.Before.Names})
	}
	if recorded := images.ArgumentsOf(i.Plan.Image.Booted.ID()); recorded != nil {
		return append(former, *recorded), nil
	}
	if !i.Host.Facts.Capabilities().HasFirstBoot {
		return former, nil
	}
	content, _, err := i.Host.Tree.ReadFile(ignition.AppliedMachineConfigPath)
	if errors.Is(err, fs.ErrNotExist) {
		return former, nil
	}
	if err != nil {
		return nil, err
	}
	config, err := ignition.ParseMachineConfig(content)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", ignition.AppliedMachineConfigPath, err)
	}
	set := resource.ArgumentChange{Add: adapt.WithoutDefaults(config.KernelArguments, i.Host.Facts.CgroupV2)}
	return append(former, joinstate.ImageArguments{Set: set}), nil
}

// recordDeployments records the deployment that the host leaves, and the kernel arguments of the next one. It can be
// repeated until the host has left the deployment.
func (i HostImage) recordDeployments(images *joinstate.Images) error {
	left := i.Plan.Image.Booted.ID()
	present := images.ArgumentsOf(left)
	if err := i.recordArguments(images); err != nil {
		return err
	}
	images.Previous = &joinstate.LeftDeployment{ID: left, Position: i.Host.Ledger.Position(), Arguments: present}
	return nil
}

// recordArguments records the kernel arguments that are staged with the image. If they are recorded already, it keeps
// the record: the arguments before them cannot be determined once more.
func (i HostImage) recordArguments(images *joinstate.Images) error {
	next := i.Plan.Image.KernelArguments
	if images.Arguments != nil && images.Arguments.Set.IsSame(next) {
		return nil
	}
	former, err := i.formerArguments(*images)
	if err != nil {
		return err
	}
	images.Arguments = &joinstate.ImageArguments{Set: next, Before: former.revert(i.Host.Facts.Cmdline)}
	return nil
}

// revert returns the words of a kernel command line without the arguments.
func (f formerArguments) revert(words []string) []string {
	for _, one := range f {
		words = one.Set.Former(words, one.Before)
	}
	return words
}

// revertFor returns revert if a payload has other arguments than those that were set, else nil.
func (f formerArguments) revertFor(next resource.ArgumentChange) func([]string) []string {
	isOther := func(one joinstate.ImageArguments) bool { return !one.Set.IsSame(next) }
	if !slices.ContainsFunc(f, isOther) {
		return nil
	}
	return f.revert
}
