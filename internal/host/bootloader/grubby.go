// SPDX-License-Identifier: Apache-2.0

package bootloader

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/command"
	"github.com/hcp-node-agent/hcp-node-agent/internal/lists"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// grubby is the tool of RHEL. It also changes the defaults for kernels that are installed later.
type grubby struct{}

// Arguments returns the arguments of the default kernel.
func (grubby) Arguments(ctx context.Context) ([]string, error) {
	out, err := command.Run(ctx, "grubby", "--info=DEFAULT")
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(out) {
		if args, found := strings.CutPrefix(strings.TrimSpace(line), "args="); found {
			// Quotation marks within the value are not escaped.
			return Split(strings.TrimSuffix(strings.TrimPrefix(args, `"`), `"`)), nil
		}
	}
	return nil, errors.New("grubby prints no arguments of the default kernel")
}

// Change changes the arguments of all boot entries, and of future ones. It fails if grubby has not set them as
// requested. It refuses changed arguments with spaces: grubby takes each of their words as an argument, and could not
// remove them without damage to the others.
func (g grubby) Change(ctx context.Context, from, to []string) error {
	for _, word := range slices.Concat(Removed(from, to), Removed(to, from)) {
		if len(strings.Fields(word)) > 1 {
			return report.Fail(report.Refused, "grubby --info=DEFAULT # shows the file (id) in /boot/loader/entries to edit",
				"grubby cannot change a kernel argument that contains spaces: %s", word)
		}
	}
	args := append([]string{"--update-kernel=ALL"}, GrubbyFlags(from, to)...)
	if _, err := command.Run(ctx, "grubby", args...); err != nil {
		return err
	}
	now, err := g.Arguments(ctx)
	if err != nil {
		return err
	}
	if keys := difference(now, to); slices.ContainsFunc(difference(from, to), func(key string) bool {
		return slices.Contains(keys, key)
	}) {
		var err error
		if flags := GrubbyFlags(now, from); len(flags) > 0 {
			_, err = command.Run(ctx, "grubby", append([]string{"--update-kernel=ALL"}, flags...)...)
		}
		return errors.Join(fmt.Errorf("grubby has set other arguments than requested, with which the host might not boot: "+
			"have %q, want %q", strings.Join(now, " "), strings.Join(to, " ")), err)
	}
	return nil
}

// GrubbyFlags returns the flags of grubby --update-kernel that change arguments. The words of --args replace all words
// with the same keys, so they contain those of the host, too.
func GrubbyFlags(from, to []string) []string {
	keys := difference(from, to)
	add := without(to, func(word string) bool { return !slices.Contains(keys, literalKey(word)) })
	remove := without(from, func(word string) bool {
		key := literalKey(word)
		return !slices.Contains(keys, key) || slices.Contains(lists.Map(add, literalKey), key)
	})
	var flags []string
	if len(add) > 0 {
		flags = append(flags, "--args="+strings.Join(add, " "))
	}
	if len(remove) > 0 {
		flags = append(flags, "--remove-args="+strings.Join(remove, " "))
	}
	return flags
}
