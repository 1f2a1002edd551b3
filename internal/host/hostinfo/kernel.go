// SPDX-License-Identifier: Apache-2.0

package hostinfo

import (
	"context"
	"os"
	"regexp"
	"strings"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/command"
)

// SysctlPath returns the path of a sysctl below /proc/sys. As in sysctl(8), the first separator found decides which of
// the two forms the name has.
func SysctlPath(name string) string {
	if i := strings.IndexAny(name, "./"); i >= 0 && name[i] == '.' {
		return swapSeparators.Replace(name)
	}
	return name
}

// SysctlName returns the name of a sysctl in the form with dots.
func SysctlName(name string) string { return swapSeparators.Replace(SysctlPath(name)) }

var swapSeparators = strings.NewReplacer(".", "/", "/", ".")

// HasSysctl reports whether the running kernel has a sysctl that has a value. Others, such as net.ipv4.route.flush, can
// only be written.
func HasSysctl(name string) bool {
	info, err := os.Stat("/proc/sys/" + SysctlPath(name))
	return err == nil && info.Mode().Perm()&0o400 != 0
}

// HasModule reports whether a kernel module is loaded, built in or loadable.
func HasModule(ctx context.Context, name string) bool {
	if isModuleListed(name) {
		return true
	}
	_, err := command.Run(ctx, "modprobe", "--dry-run", "--quiet", "--", name)
	return err == nil
}

// disabledModule matches the command that the configuration of modprobe has in place of a module.
var disabledModule = regexp.MustCompile(`(?m)^install (/\S*/)?(false|true)\s*$`)

// IsModuleDisabled reports whether the configuration of modprobe prevents that a kernel module or one that it depends
// on is loaded, by a command that does nothing. A loaded module is disabled from the next boot on.
func IsModuleDisabled(ctx context.Context, name string) bool {
	out, err := command.Run(ctx, "modprobe", "--show-depends", "--", name)
	return err == nil && disabledModule.MatchString(out)
}

// IsModuleLoaded reports whether a kernel module is loaded or built in. The name can be an alias, such as ip_conntrack.
func IsModuleLoaded(ctx context.Context, name string) bool {
	if isModuleListed(name) {
		return true
	}
	out, err := command.Run(ctx, "modprobe", "--show-depends", "--quiet", "--", name)
	return err == nil && isLastLoaded(out, isModuleListed)
}

// isModuleListed reports whether the kernel lists a module: one that is loaded, or built in with parameters.
func isModuleListed(name string) bool {
	return fileExists("/sys/module/" + strings.ReplaceAll(name, "-", "_"))
}

// moduleFile matches the line of modprobe --show-depends for a module that is not built in.
var moduleFile = regexp.MustCompile(`^insmod /\S*/([^/\s]+)\.ko`)

// isLastLoaded reports whether the last module in the output of modprobe --show-depends is loaded or built in. It
// depends on those before it.
func isLastLoaded(depends string, isListed func(string) bool) bool {
	depends = strings.TrimSpace(depends)
	last := depends[strings.LastIndexByte(depends, '\n')+1:]
	if file := moduleFile.FindStringSubmatch(last); file != nil {
		return isListed(file[1])
	}
	return strings.HasPrefix(last, "builtin ")
}
