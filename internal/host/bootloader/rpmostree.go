// SPDX-License-Identifier: Apache-2.0

package bootloader

import (
	"context"
	"slices"
	"strings"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/command"
)

// rpmOSTree changes the arguments of the deployment that boots next: it stages a copy of that deployment. Updates of
// the image keep the arguments, whether rpm-ostree or bootc makes them.
type rpmOSTree struct{}

// Arguments returns the arguments of the deployment that boots next.
func (rpmOSTree) Arguments(ctx context.Context) ([]string, error) {
	out, err := command.Run(ctx, "rpm-ostree", "kargs")
	return strings.Fields(out), err
}

// Change runs rpm-ostree once, so that one deployment gets all arguments. Other values of the keys of added arguments
// are removed, as grubby does it.
func (b rpmOSTree) Change(ctx context.Context, add, remove []string) error {
	words, err := b.Arguments(ctx)
	if err != nil {
		return err
	}
	remove = slices.Clone(remove)
	for _, word := range words {
		if slices.Contains(KeysOf(add), key(word)) && !slices.Contains(add, word) {
			remove = append(remove, word)
		}
	}
	args := []string{"kargs"}
	for _, word := range remove {
		args = append(args, "--delete-if-present="+word)
	}
	for _, word := range add {
		args = append(args, "--append-if-missing="+word)
	}
	_, err = command.Run(ctx, "rpm-ostree", args...)
	return err
}
