// SPDX-License-Identifier: Apache-2.0

package bootloader

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/command"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostfs"
)

const (
	// grubDefaults is a shell script that update-grub reads after /etc/default/grub.
	grubDefaults = "/etc/default/grub.d/90-hcp-node-agent.cfg"
	grubConfig   = "/boot/grub/grub.cfg"

	grubHeader = "# Written by hcp-node-agent; removed by hcp-node-agent leave.\n"
	grubPrefix = `GRUB_CMDLINE_LINUX="$GRUB_CMDLINE_LINUX "`
)

// updateGrub is the tool of Debian, on which the agent is tested.
type updateGrub struct{ tree *hostfs.Tree }

// Arguments returns the arguments of the first menu entry, none before the first run of
// update-grub.
func (u *updateGrub) Arguments(context.Context) ([]string, error) {
	content, _, err := u.tree.ReadFile(grubConfig)
	if err != nil && !hostfs.IsNotExist(err) {
		return nil, fmt.Errorf("reading the configuration of GRUB: %w", err)
	}
	for line := range strings.Lines(string(content)) {
		if fields := strings.Fields(line); len(fields) > 1 && fields[0] == "linux" {
			return fields[2:], nil
		}
	}
	return nil, nil
}

// Change writes the arguments to a file of the agent, which it removes with the last argument, and
// generates GRUB's configuration. It only removes and replaces arguments that it has added.
func (u *updateGrub) Change(ctx context.Context, add, remove []string) error {
	content, _, err := u.tree.ReadFile(grubDefaults)
	if err != nil && !hostfs.IsNotExist(err) {
		return fmt.Errorf("reading the kernel arguments of GRUB: %w", err)
	}
	words := parseGrubDefaults(string(content))
	for _, word := range remove {
		if !slices.Contains(words, word) {
			return fmt.Errorf("kernel argument %s is set in /etc/default/grub: only grubby can remove it", word)
		}
	}
	words = slices.DeleteFunc(words, func(word string) bool { return slices.Contains(remove, word) || HasKey(word, KeysOf(add)) })
	if err := u.write(append(words, add...)); err != nil {
		return fmt.Errorf("writing the kernel arguments of GRUB: %w", err)
	}
	_, err = command.Run(ctx, "update-grub")
	return err
}

func (u *updateGrub) write(words []string) error {
	dir := path.Dir(grubDefaults)
	if len(words) > 0 {
		if err := u.tree.MkdirAll(dir); err != nil {
			return err
		}
		return u.tree.ReplaceFile(grubDefaults, []byte(formatGrubDefaults(words)), hostfs.AgentAttr(0o644))
	}
	if err := u.tree.Remove(grubDefaults); err != nil {
		return err
	}
	if err := u.tree.Remove(dir); err != nil && !errors.Is(err, unix.ENOTEMPTY) {
		return err
	}
	return nil
}

func formatGrubDefaults(words []string) string {
	text := grubHeader
	for _, word := range words {
		text += grubPrefix + "'" + strings.ReplaceAll(word, "'", `'\''`) + "'\n"
	}
	return text
}

// parseGrubDefaults returns the words that formatGrubDefaults wrote.
func parseGrubDefaults(content string) []string {
	var words []string
	for line := range strings.Lines(content) {
		if word, found := strings.CutPrefix(strings.TrimSpace(line), grubPrefix+"'"); found {
			words = append(words, strings.ReplaceAll(strings.TrimSuffix(word, "'"), `'\''`, "'"))
		}
	}
	return words
}
