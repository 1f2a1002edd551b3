// SPDX-License-Identifier: Apache-2.0

package resource

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/command"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// BooleansKind is the kind of SELinux booleans.
const BooleansKind ledger.Kind = "booleans"

// booleansDir has one file for each boolean of the loaded SELinux policy.
const booleansDir = "/sys/fs/selinux/booleans"

// Booleans is the driver of SELinux booleans. One change covers several, because setsebool builds
// the policy again in each run, which takes seconds.
type Booleans struct {
	Dir string // "" for the running kernel
}

// BooleanChange returns the change that sets booleans, in the form NAME=on or NAME=off.
func BooleanChange(reason string, settings ...string) ledger.Change {
	return ledger.Change{
		Kind: BooleansKind, Target: "SELinux policy", Reason: reason,
		Desired: ledger.State{Present: true, Value: strings.Join(settings, " "), Names: settings},
	}
}

// Get returns the values of the booleans that the change names. Booleans that the policy does not
// have are missing.
func (b Booleans) Get(_ context.Context, c ledger.Change) (ledger.State, error) {
	dir := cmp.Or(b.Dir, booleansDir)
	var now []string
	for _, setting := range c.Desired.Names {
		name, _, _ := strings.Cut(setting, "=")
		content, err := os.ReadFile(filepath.Join(dir, name))
		if os.IsNotExist(err) {
			continue
		}
		if err != nil {
			return ledger.State{}, fmt.Errorf("reading SELinux boolean %s: %w", name, err)
		}
		value := "off"
		if strings.HasPrefix(string(content), "1") { // the current value, followed by the pending one
			value = "on"
		}
		now = append(now, name+"="+value)
	}
	return ledger.State{Present: len(now) > 0, Value: strings.Join(now, " "), Names: now}, nil
}

// Set sets the booleans that differ, in the running kernel and for later boots.
func (Booleans) Set(ctx context.Context, c ledger.Change, now ledger.State) error {
	return setBooleans(ctx, c.Desired.Names, now.Names)
}

// Restore sets the booleans to their former values.
func (b Booleans) Restore(ctx context.Context, c ledger.Change, before ledger.State) error {
	now, err := b.Get(ctx, c)
	if err != nil {
		return err
	}
	return setBooleans(ctx, before.Names, now.Names)
}

func setBooleans(ctx context.Context, desired, now []string) error {
	args := []string{"-P"}
	for _, setting := range desired {
		if !slices.Contains(now, setting) {
			args = append(args, setting)
		}
	}
	if len(args) == 1 {
		return nil
	}
	if _, err := command.Run(ctx, "setsebool", args...); err != nil {
		return report.Fail(report.Failed, "dnf install container-selinux # has some of the booleans in its policy",
			"setting SELinux booleans: %w", err)
	}
	return nil
}
