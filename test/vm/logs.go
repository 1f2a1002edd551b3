// SPDX-License-Identifier: Apache-2.0

package vm

import (
	"cmp"
	"os"
	"path/filepath"
)

// LogDirectory returns the directory for the logs of a test run: the value of LOGS, or build/NAME of the repository.
// Logs of an earlier run are removed.
func LogDirectory(repository, name string) (string, error) {
	directory := cmp.Or(os.Getenv("LOGS"), filepath.Join(repository, "build", name))
	return directory, os.RemoveAll(directory)
}
