// SPDX-License-Identifier: Apache-2.0

package ostree

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
)

// errExit77 is returned if --unchanged-exit-77 applies.
var errExit77 = errors.New("exit code 77")

func runRPMOSTree(ctx context.Context, command string, args []string) error {
	switch command {
	case "status":
		return rpmStatus(args)
	case "kargs", "rebase", "rollback", "cleanup":
	default:
		return fmt.Errorf("unknown command '%s'", command)
	}
	if err := requireRoot(); err != nil {
		return err
	}
	r, err := gatherRoles()
	if err != nil {
		return err
	}
	switch command {
	case "kargs":
		return rpmKargs(r, args)
	case "rebase":
		return rpmRebase(ctx, r, args)
	case "rollback":
		return rpmRollback(r, args)
	}
	return rpmCleanup(r, args)
}

// rpmKargs imitates src/app/rpmostree-builtin-kargs.cxx: without changes it prints the arguments of the
// pending or booted deployment; with changes it stages a deployment of the same commit.
func rpmKargs(r roles, args []string) error {
	flags := newFlags()
	var change kargsChange
	flags.Var(&change.appends, "append", "")
	flags.Var(&change.appendsIfMissing, "append-if-missing", "")
	flags.Var(&change.deletes, "delete", "")
	flags.Var(&change.deletesIfPresent, "delete-if-present", "")
	flags.Var(&change.replaces, "replace", "")
	exit77 := flags.Bool("unchanged-exit-77", false, "")
	restart := flags.Bool("reboot", false, "")
	if _, err := parse(flags, args); err != nil {
		return err
	}
	from := r.merge()
	current, err := from.kargs()
	if err != nil {
		return err
	}
	if flags.NFlag() == 0 {
		fmt.Println(strings.Join(current, " "))
		return nil
	}
	changed, err := change.apply(current)
	switch {
	case errors.Is(err, errUnchanged):
		fmt.Println("No changes.")
		if *exit77 {
			return errExit77
		}
		return nil
	case err != nil:
		return err
	}
	return stageAndReboot(from.checksum, from.origin, changed, *restart)
}

func stageAndReboot(commit string, origin keyfile, args []string, restart bool) error {
	fmt.Println("Staging deployment...done")
	if err := stage(commit, origin, args); err != nil {
		return err
	}
	if restart {
		return reboot()
	}
	fmt.Println(rebootMessage)
	return nil
}

// rpmRebase imitates src/daemon/rpmostreed-transaction-types.cxx, change_origin_refspec. Groups of the
// origin, such as layered packages, are kept.
func rpmRebase(ctx context.Context, r roles, args []string) error {
	flags := newFlags()
	restart := flags.Bool("reboot", false, "")
	flags.Bool("experimental", false, "")
	flags.Bool("bypass-driver", false, "")
	rest, err := parse(flags, args)
	if err != nil {
		return err
	}
	if len(rest) != 1 {
		return errors.New("Must specify refspec, or -b branch or -m remote") //nolint:staticcheck // rpm-ostree's message
	}
	reference, from := rest[0], r.merge()
	image, ok := strings.CutPrefix(reference, originPrefix)
	if !ok {
		return fmt.Errorf("%s is not supported by this stand-in", reference)
	}
	if from.reference() == reference {
		return errors.New("Old and new refs are equal: " + reference)
	}
	fmt.Println("Pulling manifest: " + reference)
	commit, _, err := pull(ctx, image)
	if err != nil {
		return err
	}
	kargs, err := from.kargs()
	if err != nil {
		return err
	}
	origin := maps.Clone(from.origin)
	origin["origin"] = map[string]string{containerKey: reference}
	return stageAndReboot(commit, origin, kargs, *restart)
}

// rpmRollback imitates src/daemon/rpmostreed-transaction-types.cxx, rollback_transaction_execute. Unlike
// bootc, it refuses with a staged deployment.
func rpmRollback(r roles, args []string) error {
	flags := newFlags()
	restart := flags.Bool("reboot", false, "")
	if _, err := parse(flags, args); err != nil {
		return err
	}
	if r.staged != nil {
		return errors.New("Staged deployment (remove with cleanup -p)") //nolint:staticcheck // rpm-ostree's message
	}
	if r.rollback == nil {
		return errors.New("No rollback deployment found") //nolint:staticcheck // rpm-ostree's message
	}
	first := *r.rollback
	if r.rollbackQueued() {
		first = r.booted
	}
	fmt.Printf("Moving '%s' to be first deployment\n", first.name())
	if err := setDefault(first); err != nil {
		return err
	}
	if *restart {
		return reboot()
	}
	fmt.Println(rebootMessage)
	return nil
}

// rpmCleanup imitates src/app/rpmostree-builtin-cleanup.cxx. A pending deployment is one that is staged
// or before the booted deployment; the rollback deployment is after it.
func rpmCleanup(r roles, args []string) error {
	flags := newFlags()
	var pending, rollback, base bool
	for name, value := range map[string]*bool{"pending": &pending, "rollback": &rollback, "base": &base} {
		flags.BoolVar(value, name, false, "")
		flags.BoolVar(value, name[:1], false, "")
	}
	if _, err := parse(flags, args); err != nil {
		return err
	}
	if flags.NFlag() == 0 {
		return errors.New("At least one cleanup option must be specified") //nolint:staticcheck // rpm-ostree's message
	}
	removed := false
	// From the last, so that the other indexes remain valid.
	if r.rollback != nil && (rollback && !r.rollbackQueued() || pending && r.rollbackQueued()) {
		removed = true
		if err := remove(*r.rollback); err != nil {
			return err
		}
	}
	if pending && r.staged != nil {
		removed = true
		if err := remove(*r.staged); err != nil {
			return err
		}
	}
	if (pending || rollback) && !removed {
		fmt.Println("Deployments unchanged.")
	}
	return nil
}
