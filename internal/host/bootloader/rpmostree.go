// SPDX-License-Identifier: Apache-2.0

package bootloader

import (
	"context"
	"slices"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/command"
)

// rpmOSTree changes the arguments of the deployment that boots next: it stages a copy of that deployment. Updates of
// the image keep the arguments, whether rpm-ostree or bootc makes them.
type rpmOSTree struct{}

// Arguments returns the arguments of the deployment that boots next.
func (rpmOSTree) Arguments(ctx context.Context) ([]string, error) {
	out, err := command.Run(ctx, "rpm-ostree", "kargs")
	return Split(out), err
}

// Change changes the arguments of the next deployment.
func (rpmOSTree) Change(ctx context.Context, from, to []string) error {
	_, err := command.Run(ctx, "rpm-ostree", append([]string{"kargs"}, KargsFlags(from, to)...)...)
	return err
}

// KargsFlags returns the flags of rpm-ostree kargs that change arguments. rpm-ostree deletes words first, each flag
// one, and then appends words. It removes --delete-if-present after that. It compares --append-if-missing with the
// words that it has just appended, and would drop a repeated one.
func KargsFlags(from, to []string) []string {
	var add []string
	remove := Removed(from, to)
	kept := Removed(from, remove) // rpm-ostree deletes the first of equal words
	if len(to) >= len(kept) && slices.Equal(kept, to[:len(kept)]) {
		add = to[len(kept):]
	} else {
		keys := difference(from, to)
		isOther := func(word string) bool { return !slices.Contains(keys, literalKey(word)) }
		remove, add = without(from, isOther), without(to, isOther)
	}
	flags := make([]string, 0, len(remove)+len(add))
	for _, word := range remove {
		flags = append(flags, "--delete="+word)
	}
	for _, word := range add {
		flags = append(flags, "--append="+word)
	}
	return flags
}
