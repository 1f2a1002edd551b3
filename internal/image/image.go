// SPDX-License-Identifier: Apache-2.0

package image

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/wait"

	"golang.org/x/sys/unix"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/command"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostfs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/selinux"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition/accounts"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition/adapt"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition/entries"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger/resource"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// rollbackDir is the directory in the tree that contains the rollback data of an
// apply. It is removed when the apply ends.
const rollbackDir = "/.hcp-node-agent-apply"

// imageTree is a directory tree to which a config is applied.
type imageTree struct {
	tree   *hostfs.Tree
	dir    *os.File
	ledger *ledger.Ledger
}

// openImage opens the tree for changes. It first rolls back an apply that was
// killed. Changes that others have made since are kept and reported.
func openImage(ctx context.Context, tree *hostfs.Tree, log report.Log) (*imageTree, error) {
	dir, err := tree.PrivateDir(rollbackDir)
	if err != nil {
		return nil, report.Fail(report.Failed, "", "creating the directory for the rollback data: %w", err)
	}
	i := &imageTree{tree: tree, dir: dir}
	// Open the directory by descriptor, so that it cannot be replaced in the meantime.
	i.ledger, err = ledger.Open(fmt.Sprintf("/proc/self/fd/%d", dir.Fd()), imageDrivers(tree))
	if err != nil {
		dir.Close()
		if errors.Is(err, ledger.ErrLocked) {
			return nil, report.Fail(report.Failed, "# wait until the other apply exits, then retry",
				"another apply to %s is running", tree.Name())
		}
		return nil, err
	}
	if err := i.awaitSystemctl(ctx, log); err != nil {
		i.close()
		return nil, err
	}
	if len(i.ledger.Items()) == 0 {
		return i, nil
	}
	outcome, err := i.ledger.Undo(ctx)
	for _, kept := range outcome.Kept {
		log.Warn(kept.KeptMessage(), "# remove it if it is not needed")
	}
	if err != nil {
		i.close()
		return nil, fmt.Errorf("rolling back an interrupted apply to %s: %w", tree.Name(), err)
	}
	return i, nil
}

// awaitSystemctl locks the directory, which every systemctl process inherits. It
// blocks until a process that a killed apply left running exits, or ctx ends.
func (i *imageTree) awaitSystemctl(ctx context.Context, log report.Log) error {
	for {
		err := unix.Flock(int(i.dir.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err == nil {
			return nil
		}
		if !errors.Is(err, unix.EWOULDBLOCK) {
			return fmt.Errorf("locking %s: %w", rollbackDir, err)
		}
		log.Wait("waiting for systemctl of an interrupted apply to exit", "")
		if err := wait.Sleep(ctx, 50*time.Millisecond); err != nil {
			return fmt.Errorf("waiting for systemctl of an interrupted apply to exit: %w", err)
		}
	}
}

func imageDrivers(tree *hostfs.Tree) ledger.Drivers {
	homes := &resource.SharedDirSnapshot{DirSnapshot: &resource.DirSnapshot{Tree: tree}, Purge: true} // of new users
	paths := &ledger.Paths{Tree: tree, SELinux: selinux.Policy{Tree: tree}}
	commands := accounts.NewDriver(tree)
	return ledger.Drivers{
		Paths: paths,
		Resources: map[ledger.Kind]ledger.Driver{
			accounts.Group: commands,
			accounts.User:  commands,
			accounts.Keys:  accounts.NewKeysDriver(paths),
		},
		Snapshots: map[ledger.Kind]ledger.SnapshotDriver{ledger.SharedContents: homes},
	}
}

// writeConfig creates accounts, entries and units. It determines all changes before
// it makes the first one. It determines the entries again after the accounts exist,
// because their numeric IDs are known only then.
func (i *imageTree) writeConfig(
	ctx context.Context, payload *ignition.Payload, log report.Log,
) (changed int, err error) {
	passwd := payload.Config.Passwd
	users, groups, err := accounts.IDs(i.tree)
	if err != nil {
		return 0, err
	}
	users, groups = accounts.Announced(passwd, users, groups)
	decision, notes, err := adapt.ToImage(payload, i.tree, users, groups)
	if err != nil {
		return 0, err
	}
	for _, note := range notes {
		log.Note(note.String())
	}
	if decision.DisablesUnits() && !command.Exists("systemctl") {
		return 0, report.Fail(report.Refused, "dnf install systemd",
			"the config disables units in %s, which requires systemctl on this machine", i.tree.Name())
	}
	if len(passwd.Users)+len(passwd.Groups) > 0 {
		made, err := accounts.Apply(ctx, i.ledger, i.tree, "accounts", accounts.Input{Passwd: passwd, Tree: i.tree})
		if err != nil {
			return 0, err
		}
		changed = len(made)
		if users, groups, err = accounts.IDs(i.tree); err != nil {
			return 0, err
		}
		if decision, _, err = adapt.ToImage(payload, i.tree, users, groups); err != nil {
			return 0, err
		}
	}
	made, err := i.ledger.Apply(ctx, "entries", decision.Changes)
	if err != nil {
		return 0, err
	}
	presets, err := i.preset(ctx, decision)
	return changed + len(made) + presets, err
}

// preset disables units with systemctl(1), which removes links and directories of the tree, and writes the preset
// file. It returns the number of paths that it changed.
func (i *imageTree) preset(ctx context.Context, decision *entries.Decision) (changed int, err error) {
	links, err := decision.UnitLinks()
	if err != nil {
		return 0, err
	}
	recordResult := func() error { return nil }
	if decision.DisablesUnits() {
		if recordResult, err = i.ledger.TrackExternal(ctx, "unit links", links...); err != nil {
			return 0, err
		}
	}
	changes, err := decision.Preset(func(unit string) (bool, error) { return i.disable(ctx, unit) })
	if err == nil {
		err = recordResult()
	}
	if err != nil {
		return 0, err
	}
	for _, link := range links {
		exists, err := i.tree.Exists(link.Target)
		if err != nil {
			return 0, err
		}
		if !exists {
			changed++
		}
	}
	if changed > 0 {
		if err := i.tree.SyncFileSystem("/etc"); err != nil {
			return 0, err
		}
	}
	made, err := i.ledger.Apply(ctx, "preset", changes)
	return changed + len(made), err
}

// disable disables a unit that is enabled, as Ignition does, and reports whether the unit was enabled. Ignition passes
// the instances of a template as one argument.
func (i *imageTree) disable(ctx context.Context, unit string) (wasEnabled bool, err error) {
	systemctl := func(verb string) error {
		_, err := command.RunInheriting(ctx, i.dir, nil, "systemctl", "--root="+i.tree.Name(), verb, "--", unit)
		return err
	}
	err = systemctl("is-enabled")
	if failed := new(command.Error); errors.As(err, &failed) && failed.Code > 0 {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return true, systemctl("disable")
}

// rollBack reverts all changes and closes i. Its error lists the changes of others,
// which are kept.
func (i *imageTree) rollBack(ctx context.Context) error {
	defer i.close()
	outcome, err := i.ledger.Undo(ctx)
	if err != nil {
		return report.Fail(report.Failed, "# run apply again, which first completes the rollback",
			"rolling back the changes: %w", err)
	}
	errs := []error{i.ledger.Remove(), i.tree.Remove(rollbackDir)}
	for _, kept := range outcome.Kept {
		errs = append(errs, errors.New(kept.KeptMessage()))
	}
	return errors.Join(errs...)
}

// commit discards the rollback data and closes i.
func (i *imageTree) commit() error {
	defer i.close()
	if err := i.ledger.Discard(); err != nil {
		return err
	}
	return i.tree.Remove(rollbackDir)
}

func (i *imageTree) close() {
	i.ledger.Close()
	i.dir.Close()
}
