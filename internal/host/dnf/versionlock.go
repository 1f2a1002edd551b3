// SPDX-License-Identifier: Apache-2.0

package dnf

import (
	"fmt"
	"os"
	"path/filepath"
)

// versionLockPlugin is dnf's plugin that keeps packages at their versions.
const versionLockPlugin = "versionlock"

// VersionLockFile returns the path of the list of dnf's plugin versionlock, or "" if the plugin is not
// installed or disabled. dnf5 needs no plugin.
func (h Host) VersionLockFile() (string, error) {
	if IsDNF5() {
		return LockFile5, nil
	}
	content, err := os.ReadFile(filepath.Join("/", h.Root, "etc/dnf/plugins", versionLockPlugin+".conf"))
	if os.IsNotExist(err) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("reading the configuration of dnf's plugin %s: %w", versionLockPlugin, err)
	}
	values := sections(string(content))["main"]
	if enabled, given := values["enabled"]; given && !isTrue(enabled) {
		return "", nil
	}
	return values["locklist"], nil
}
