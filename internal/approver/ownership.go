// SPDX-License-Identifier: Apache-2.0

package approver

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// ownership contains the owner and the mode of a file or a directory.
type ownership struct {
	owner int // user ID
	mode  fs.FileMode
}

func ownershipOf(info fs.FileInfo) ownership {
	found := ownership{owner: -1, mode: info.Mode()}
	if status, known := info.Sys().(*syscall.Stat_t); known {
		found.owner = int(status.Uid)
	}
	return found
}

// check returns an error if users other than root and the caller can write to path. An enrollment
// permits a host to become a node.
func (o ownership) check(path string, caller int) error {
	const writableByOthers = 0o022
	word := report.ShellWord(path)
	var remedy []string
	if o.owner != 0 && o.owner != caller {
		remedy = append(remedy, "chown root: "+word)
	}
	if o.mode.Perm()&writableByOthers != 0 {
		remedy = append(remedy, "chmod go-w "+word)
	}
	if len(remedy) == 0 {
		return nil
	}
	return report.Fail(report.Failed, report.Remedy(strings.Join(remedy, " && ")),
		"users other than root can write to %s (owner %d, mode %#o): they can admit nodes", path, o.owner, o.mode.Perm())
}

// checkOwnership is like check, but accepts everything on a read-only mount, such as a ConfigMap in
// a pod, whose directory is writable by all users.
func checkOwnership(path string, info fs.FileInfo) error {
	if errors.Is(unix.Access(path, unix.W_OK), unix.EROFS) {
		return nil
	}
	return ownershipOf(info).check(path, os.Geteuid())
}

func (o ownership) String() string { return fmt.Sprintf("%d %v", o.owner, o.mode) }
