// SPDX-License-Identifier: Apache-2.0

package hostinfo

import (
	"context"
	"strings"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/command"
)

// HasSysctl reports whether the running kernel has a sysctl, whose name is
// written with dots.
func HasSysctl(name string) bool {
	return fileExists("/proc/sys/" + strings.NewReplacer(".", "/", "/", ".").Replace(name))
}

// HasModule reports whether a kernel module is loaded, built in or loadable.
func HasModule(ctx context.Context, name string) bool {
	if IsModuleLoaded(name) {
		return true
	}
	_, err := command.Run(ctx, "modprobe", "--dry-run", "--quiet", "--", name)
	return err == nil
}

// IsModuleLoaded reports whether a kernel module is loaded, or built in and listed in /sys/module.
func IsModuleLoaded(name string) bool {
	return fileExists("/sys/module/" + strings.ReplaceAll(name, "-", "_"))
}
