// SPDX-License-Identifier: Apache-2.0

package resource

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/bootloader"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/wrap"
)

// ArgumentChange lists kernel arguments to add and to remove. An argument can consist of several
// words.
type ArgumentChange struct {
	Add    []string `json:"add,omitempty"`
	Remove []string `json:"remove,omitempty"`
}

// without precedes an argument to remove in descriptions.
const without = "without "

// IsMet reports whether the words of a kernel command line are as desired.
func (a ArgumentChange) IsMet(words []string) bool { return a.String() == a.describe(words) }

// IsBooted reports whether the words of the running kernel are those of a boot entry as desired, also if the boot
// loader has added other values behind them.
func (a ArgumentChange) IsBooted(words []string) bool {
	return bootloader.ContainInOrder(words, a.Add) && !slices.ContainsFunc(a.Remove, func(argument string) bool {
		return bootloader.Contains(words, argument)
	})
}

// IsSame reports whether both set the same arguments.
func (a ArgumentChange) IsSame(other ArgumentChange) bool {
	return slices.Equal(a.Add, other.Add) && slices.Equal(a.Remove, other.Remove)
}

// String returns the arguments on one line.
func (a ArgumentChange) String() string { return a.describe(a.words()) }

// describe returns the arguments to add that words contain, and the arguments to remove that they do
// not contain.
func (a ArgumentChange) describe(words []string) string {
	var parts []string
	for i, isSet := range bootloader.AreSet(words, a.Add) {
		if isSet {
			parts = append(parts, a.Add[i])
		}
	}
	for _, argument := range a.Remove {
		if !bootloader.Contains(words, argument) {
			parts = append(parts, without+argument)
		}
	}
	return strings.Join(parts, " ")
}

// Next returns the words of a kernel command line, changed so that they are as desired.
func (a ArgumentChange) Next(words []string) []string { return bootloader.Next(words, a.Add, a.Remove) }

// words returns the words of the arguments to add.
func (a ArgumentChange) words() []string { return bootloader.Split(strings.Join(a.Add, " ")) }

// KernelArguments is the driver of the kernel arguments of the next boot. The running kernel keeps
// its arguments.
type KernelArguments struct {
	BootLoader bootloader.BootLoader // nil if the host has none that the agent supports
	ImageMode  bool                  // the host was booted from an image
}

// Change returns the change that makes the kernel arguments those of a.
func (KernelArguments) Change(reason string, a ArgumentChange) (ledger.Change, error) {
	data, err := json.Marshal(a)
	names := slices.Clone(a.Add)
	for _, argument := range a.Remove {
		names = append(names, without+argument)
	}
	return ledger.Change{
		Kind: ledger.KernelArguments, Target: "boot loader", Reason: reason,
		Desired: ledger.State{Present: true, Value: a.String(), Names: names, Data: data},
	}, err
}

// NewData returns a pointer to an ArgumentChange.
func (KernelArguments) NewData() any { return new(ArgumentChange) }

// DecodeArguments returns the arguments that a change sets.
func DecodeArguments(c ledger.Change) (ArgumentChange, error) {
	var a ArgumentChange
	err := c.Desired.DecodeData(&a)
	return a, wrap.Errorf(err, "decoding the kernel arguments")
}

// arguments returns the desired change and the words that are set.
func (d KernelArguments) arguments(ctx context.Context, c ledger.Change) (ArgumentChange, []string, error) {
	a, err := DecodeArguments(c)
	if err != nil {
		return a, nil, err
	}
	switch {
	case d.BootLoader == nil && d.ImageMode:
		return a, nil, report.Fail(report.Refused, "# add rpm-ostree to the image of this host, and update the host to it",
			"kernel arguments cannot be set or read: rpm-ostree is not installed")
	case d.BootLoader == nil:
		return a, nil, report.Fail(report.Refused, "dnf install grubby",
			"kernel arguments cannot be set or read: grubby is not installed")
	}
	words, err := d.BootLoader.Arguments(ctx)
	return a, words, wrap.Errorf(err, "reading the kernel arguments of the next boot")
}

// Get returns the desired arguments that are set as Value, and all words as Names.
func (d KernelArguments) Get(ctx context.Context, c ledger.Change) (ledger.State, error) {
	a, words, err := d.arguments(ctx, c)
	if err != nil {
		return ledger.State{}, err
	}
	return ledger.State{Present: true, Value: a.describe(words), Names: words}, nil
}

// Set changes the arguments.
func (d KernelArguments) Set(ctx context.Context, c ledger.Change, _ ledger.State) error {
	a, words, err := d.arguments(ctx, c)
	if err != nil {
		return err
	}
	return wrap.Errorf(d.BootLoader.Change(ctx, words, a.Next(words)), "setting kernel arguments")
}

// IsPartiallyRestored returns true: Restore considers each argument separately, so an undo need not keep
// all of them if an administrator has removed one.
func (KernelArguments) IsPartiallyRestored(ledger.Change, ledger.State, ledger.State) (bool, error) {
	return true, nil
}

// Restore removes the arguments that were added, and adds those that were removed or replaced.
// Arguments that others have added or removed since are kept.
func (d KernelArguments) Restore(ctx context.Context, c ledger.Change, before ledger.State) error {
	a, words, err := d.arguments(ctx, c)
	if err != nil {
		return err
	}
	former := a.Former(words, before.Names)
	if slices.Equal(words, former) {
		return nil
	}
	return wrap.Errorf(d.BootLoader.Change(ctx, words, former), "restoring the kernel arguments")
}

// Former returns words as they were before the change: of the keys that the change concerns, the words before, in
// their order. Words of these keys follow that others have added. A word that others have removed, such as a logical
// volume without which the host boots now, is not restored if words have another one of its key.
func (a ArgumentChange) Former(words, before []string) []string {
	changed := slices.Concat(a.words(), bootloader.Split(strings.Join(a.Remove, " ")))
	keys := bootloader.KeysOf(changed)
	var kept, restored, foreign []string
	next := a.Next(before)
	for _, word := range before {
		isOther := func(w string) bool {
			return bootloader.Key(w) == bootloader.Key(word) && !slices.Contains(changed, w)
		}
		isRemoved := slices.Contains(next, word) && !slices.Contains(words, word) && slices.ContainsFunc(words, isOther)
		if isOf(keys, word) && !isRemoved {
			restored = append(restored, word)
		}
	}
	for _, word := range words {
		switch {
		case !isOf(keys, word):
			kept = append(kept, word)
		case !slices.Contains(before, word) && !slices.Contains(changed, word):
			foreign = append(foreign, word)
		}
	}
	return slices.Concat(kept, restored, foreign)
}

func isOf(keys []string, word string) bool {
	return slices.Contains(keys, bootloader.Key(word))
}
