// SPDX-License-Identifier: Apache-2.0

package ostree

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"reflect"
	"strings"
)

// errUsage is returned for a command line that is not supported.
var errUsage = errors.New("usage")

// stringList is a flag that can be repeated.
type stringList []string

// String implements [flag.Value].
func (l *stringList) String() string { return strings.Join(*l, " ") }

// Set implements [flag.Value].
func (l *stringList) Set(value string) error {
	*l = append(*l, value)
	return nil
}

// newFlags returns a set of flags whose errors are reported by Run.
func newFlags() *flag.FlagSet {
	flags := flag.NewFlagSet("", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	return flags
}

// parse parses the flags, which can follow the arguments, and returns the arguments.
func parse(flags *flag.FlagSet, args []string) ([]string, error) {
	var rest []string
	for len(args) > 0 {
		if err := flags.Parse(args); err != nil {
			return nil, fmt.Errorf("%w: %w", errUsage, err)
		}
		if args = flags.Args(); len(args) > 0 {
			rest, args = append(rest, args[0]), args[1:]
		}
	}
	return rest, nil
}

// Run runs the stand-in with the name, bootc or rpm-ostree, and returns its exit code: 1 with a message
// that starts with "error: ", 2 for errors of usage, as clap does.
func Run(ctx context.Context, name string, args []string) int {
	run := runBootc
	if name == "rpm-ostree" {
		run = runRPMOSTree
	}
	err := errUsage
	if len(args) > 0 {
		err = run(ctx, args[0], args[1:])
	}
	switch {
	case err == nil:
		return 0
	case errors.Is(err, errExit77):
		return 77
	}
	fmt.Fprintln(os.Stderr, "error:", err)
	if errors.Is(err, errUsage) && name == "bootc" {
		return 2
	}
	return 1
}

func runBootc(ctx context.Context, command string, args []string) error {
	if err := requireRoot(); err != nil {
		return err
	}
	switch command {
	case "status":
		return bootcStatus(args)
	case "switch":
		return bootcSwitch(ctx, args)
	case "upgrade":
		return bootcUpgrade(ctx, args)
	case "rollback":
		return bootcRollback(args)
	}
	return fmt.Errorf("%w: unrecognized subcommand '%s'", errUsage, command)
}

func bootcStatus(args []string) error {
	flags := newFlags()
	format := flags.String("format", "humanreadable", "")
	version := flags.String("format-version", "1", "")
	short := flags.Bool("json", false, "")
	if _, err := parse(flags, args); err != nil {
		return err
	}
	if *version != "0" && *version != "1" { // crates/lib/src/status.rs, status
		return errors.New("Unsupported format version: " + *version)
	}
	_, h, err := gatherHost()
	if err != nil {
		return err
	}
	if *short || *format == "json" {
		out, err := toJSON(h)
		fmt.Print(out)
		return err
	}
	for _, line := range []struct {
		name  string
		entry *bootEntry
	}{{"Staged", h.Status.Staged}, {"Booted", h.Status.Booted}, {"Rollback", h.Status.Rollback}} {
		switch {
		case line.entry == nil:
		case line.entry.Image == nil:
			fmt.Printf("%s ostree\n  Commit: %s\n", line.name, line.entry.OSTree.Checksum)
		default:
			image := line.entry.Image
			fmt.Printf("%s image: %s\n  Digest: %s\n", line.name, image.Image.Image, image.ImageDigest)
		}
	}
	return nil
}

func gatherHost() (roles, host, error) {
	r, err := gatherRoles()
	if err != nil {
		return r, host{}, err
	}
	h, err := hostOf(r, readMetadata)
	return r, h, err
}

// bootcSwitch imitates crates/lib/src/cli.rs, switch_ostree. Unlike upgrade, it does not refuse
// incompatible deployments: the new origin has only the image.
func bootcSwitch(ctx context.Context, args []string) error {
	flags := newFlags()
	apply := flags.Bool("apply", false, "")
	flags.Bool("retain", false, "")
	flags.Bool("quiet", false, "")
	flags.Bool("enforce-container-sigpolicy", false, "")
	transport := flags.String("transport", "registry", "")
	rest, err := parse(flags, args)
	if err != nil {
		return err
	}
	if len(rest) != 1 {
		return fmt.Errorf("%w: one TARGET is required", errUsage)
	}
	if *transport != "registry" {
		return fmt.Errorf("transport %s is not supported by this stand-in", *transport)
	}
	r, h, err := gatherHost()
	if err != nil {
		return err
	}
	target := parseReference(rest[0])
	if reflect.DeepEqual(h.Spec.Image, &target) {
		fmt.Println("Image specification is unchanged.")
		if *apply && r.staged != nil {
			return reboot()
		}
		return nil
	}
	if err := switchTo(ctx, r, target.Image); err != nil {
		return err
	}
	if *apply {
		return reboot()
	}
	return nil
}

// switchTo stages a deployment of the image (crates/lib/src/deploy.rs, stage).
func switchTo(ctx context.Context, r roles, image string) error {
	commit, digest, err := pull(ctx, image)
	if err != nil {
		return err
	}
	args, err := r.merge().kargs()
	if err != nil {
		return err
	}
	if err := stage(commit, keyfile{"origin": {containerKey: originPrefix + image}}, args); err != nil {
		return err
	}
	fmt.Println("Queued for next boot: " + image)
	fmt.Println("  Digest: " + digest)
	return requireReboot(digest)
}

// requireReboot imitates crates/lib/src/deploy.rs, write_reboot_required.
func requireReboot(digest string) error {
	return os.WriteFile("/run/reboot-required", []byte("bootc: Reboot required for image: "+digest), 0o600)
}

// bootcUpgrade imitates crates/lib/src/cli.rs, upgrade.
func bootcUpgrade(ctx context.Context, args []string) error {
	flags := newFlags()
	check := flags.Bool("check", false, "")
	apply := flags.Bool("apply", false, "")
	flags.Bool("quiet", false, "")
	if _, err := parse(flags, args); err != nil {
		return err
	}
	r, h, err := gatherHost()
	if err != nil {
		return err
	}
	if h.Spec.Image == nil {
		if r.booted.incompatible() || r.staged != nil && r.staged.incompatible() {
			//nolint:staticcheck // bootc's message
			return errors.New("Deployment contains local rpm-ostree modifications; cannot upgrade via bootc. " +
				"You can run `rpm-ostree reset` to undo the modifications.")
		}
		return errors.New("No image source specified") //nolint:staticcheck // bootc's message
	}
	image := h.Spec.Image.Image
	source, err := open(ctx, image)
	if err != nil {
		return err
	}
	unchanged := func(entry *bootEntry) bool {
		return entry != nil && entry.Image != nil && entry.Image.ImageDigest == source.digest
	}
	switch {
	case *check && (unchanged(h.Status.Booted) || unchanged(h.Status.Staged)):
		fmt.Println("No changes in: " + originPrefix + image)
		return nil
	case *check:
		fmt.Printf("Update available for: %s\n  Digest: %s\n", originPrefix+image, source.digest)
		return nil
	case unchanged(h.Status.Staged):
		fmt.Println("Staged update present, not changed")
	case unchanged(h.Status.Booted):
		fmt.Println("No update available.")
		return nil
	default:
		if err := switchTo(ctx, r, image); err != nil {
			return err
		}
	}
	if *apply {
		return reboot()
	}
	return nil
}

// bootcRollback imitates crates/lib/src/deploy.rs, rollback: a staged deployment is not part of the new
// list, so it is removed.
func bootcRollback(args []string) error {
	flags := newFlags()
	apply := flags.Bool("apply", false, "")
	if _, err := parse(flags, args); err != nil {
		return err
	}
	r, h, err := gatherHost()
	if err != nil {
		return err
	}
	reverting := r.rollbackQueued()
	if reverting {
		fmt.Println("notice: Reverting queued rollback state")
	}
	if r.rollback == nil {
		return errors.New("No rollback available") //nolint:staticcheck // bootc's message
	}
	image := h.Status.Rollback.Image
	if image == nil {
		return errors.New("Rollback is not container image based") //nolint:staticcheck // bootc's message
	}
	first, message := *r.rollback, "Next boot: rollback deployment"
	if reverting {
		first, message = r.booted, "Next boot: current deployment"
	}
	if err := removeStaged(r); err != nil {
		return err
	}
	if err := setDefault(first); err != nil {
		return err
	}
	fmt.Println(message)
	if err := requireReboot(image.ImageDigest); err != nil {
		return err
	}
	if *apply {
		return reboot()
	}
	return nil
}
