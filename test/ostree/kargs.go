// SPDX-License-Identifier: Apache-2.0

package ostree

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// kargs returns the kernel arguments of a deployment: the options of its boot entry. A staged
// deployment has no boot entry, and libostree keeps its arguments in a GVariant; stage keeps a copy of
// them in stagedKargs.
func (d deployment) kargs() ([]string, error) {
	if d.staged {
		content, err := os.ReadFile(stagedKargs)
		return strings.Fields(string(content)), err
	}
	entries, err := filepath.Glob(entriesDir + "/*.conf")
	if err != nil {
		return nil, err
	}
	for _, entry := range entries {
		content, err := os.ReadFile(entry)
		if err != nil {
			return nil, err
		}
		args := entryOptions(string(content))
		at := slices.IndexFunc(args, isOSTree)
		if at < 0 {
			continue
		}
		_, link, _ := strings.Cut(args[at], "=")
		if target, err := filepath.EvalSymlinks(link); err == nil && filepath.Base(target) == d.name() {
			return args, nil
		}
	}
	return nil, fmt.Errorf("no boot entry of deployment %s", d.name())
}

// entryOptions returns the kernel arguments of a boot entry.
func entryOptions(entry string) []string {
	for line := range strings.Lines(entry) {
		if options, ok := strings.CutPrefix(line, "options "); ok {
			return strings.Fields(options)
		}
	}
	return nil
}

// isOSTree reports whether the argument names the deployment: libostree sets it for each boot entry.
func isOSTree(arg string) bool { return strings.HasPrefix(arg, "ostree=") }

// kargsChange is a change of kernel arguments by the options of rpm-ostree kargs.
type kargsChange struct{ appends, appendsIfMissing, deletes, deletesIfPresent, replaces stringList }

// errUnchanged is returned for a change without effect.
var errUnchanged = errors.New("no changes")

// apply returns the changed arguments. Arguments are deleted, replaced and appended in the order of
// rpm-ostree (src/daemon/rpmostreed-transaction-types.cxx, kernel_arg_apply_patching).
func (c kargsChange) apply(args []string) ([]string, error) {
	before := slices.Clone(args)
	for _, arg := range c.deletes {
		if !hasArg(args, arg) {
			return nil, fmt.Errorf("No karg '%s' found", arg) //nolint:staticcheck // libostree's message
		}
		args = deleteArg(args, arg)
	}
	for _, arg := range c.replaces {
		var err error
		if args, err = replaceArg(args, arg); err != nil {
			return nil, err
		}
	}
	args = append(args, c.appends...)
	for _, arg := range c.appendsIfMissing {
		if !slices.Contains(args, arg) {
			args = append(args, arg)
		}
	}
	for _, arg := range c.deletesIfPresent {
		args = deleteArg(args, arg)
	}
	if slices.Equal(before, args) {
		return nil, errUnchanged
	}
	return args, nil
}

// matchesArg reports whether want, KEY=VALUE or KEY for any value, selects the argument.
func matchesArg(arg, want string) bool {
	key, _, _ := strings.Cut(arg, "=")
	return arg == want || key == want
}

func hasArg(args []string, want string) bool {
	return slices.ContainsFunc(args, func(arg string) bool { return matchesArg(arg, want) })
}

// deleteArg deletes one argument, as libostree does (ostree_kernel_args_delete).
func deleteArg(args []string, want string) []string {
	at := slices.Index(args, want)
	if at < 0 {
		at = slices.IndexFunc(args, func(arg string) bool { return matchesArg(arg, want) })
	}
	if at < 0 {
		return args
	}
	return slices.Delete(slices.Clone(args), at, at+1)
}

// replaceArg changes the value of an argument: KEY=NEW, or KEY=OLD=NEW.
func replaceArg(args []string, change string) ([]string, error) {
	key, value, _ := strings.Cut(change, "=")
	want := key
	if before, after, ok := strings.Cut(value, "="); ok {
		want, value = key+"="+before, after
	}
	at := slices.IndexFunc(args, func(arg string) bool { return matchesArg(arg, want) })
	if at < 0 {
		return nil, fmt.Errorf("No karg '%s' found", want) //nolint:staticcheck // libostree's message
	}
	args = slices.Clone(args)
	args[at] = key + "=" + value
	return args, nil
}

// stage stages a deployment of the commit with the origin and the kernel arguments. libostree merges
// /etc and writes the boot entry when the host shuts down.
func stage(commit string, origin keyfile, args []string) error {
	file, err := os.CreateTemp("", "origin")
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(file.Name()) }() // leaves a file in /tmp at worst
	if _, err := file.WriteString(origin.String()); err != nil {
		return err
	}
	if err := file.Close(); err != nil {
		return err
	}
	args = slices.DeleteFunc(slices.Clone(args), isOSTree)
	options := []string{"deploy", "--stage", "--karg-none", "--origin-file=" + file.Name()}
	for _, arg := range args {
		options = append(options, "--karg-append="+arg)
	}
	if err := admin(append(options, commit)...); err != nil {
		return err
	}
	return os.WriteFile(stagedKargs, []byte(strings.Join(args, " ")), 0o600)
}
