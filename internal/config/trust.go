// SPDX-License-Identifier: Apache-2.0

package config

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"syscall"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// readTrusted reads a configuration file. A file that another user could have written is
// not read, but reported as a problem, because its settings name commands that root runs.
func readTrusted(name string) ([]byte, *Problem, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, nil, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, nil, err
	}
	owner := -1
	if status, known := info.Sys().(*syscall.Stat_t); known {
		owner = int(status.Uid)
	}
	if problem := checkOwnership(name, info.Mode(), owner, os.Geteuid()); problem != nil {
		return nil, problem, nil
	}
	content, err := io.ReadAll(file)
	return content, nil, err
}

// checkOwnership returns a problem for a file that is not owned by root or the caller, or that
// others can write to.
func checkOwnership(name string, mode fs.FileMode, owner, caller int) *Problem {
	const writableByOthers = 0o022
	if mode&fs.ModeCharDevice != 0 {
		return nil // /dev/null has no content
	}
	word := report.ShellWord(name)
	var remedy []string
	if owner != 0 && owner != caller {
		remedy = append(remedy, "chown root: "+word)
	}
	if mode.Perm()&writableByOthers != 0 {
		remedy = append(remedy, "chmod go-w "+word)
	}
	if len(remedy) == 0 {
		return nil
	}
	return &Problem{
		File:    name,
		Message: fmt.Sprintf("file ignored: users other than root can write to it (owner %d, mode %#o)", owner, mode.Perm()),
		Remedy:  report.Remedy(strings.Join(remedy, " && ")),
	}
}
