// SPDX-License-Identifier: Apache-2.0

package approver

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/hcp-node-agent/hcp-node-agent/internal/enrollment"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// enrollmentDir is a directory of enrollment files. It is read again when a file is added, changed or
// removed.
type enrollmentDir struct {
	path      string
	lastState string // result of state at the last load
}

// state returns the names, sizes, modification times and owners of the files. It follows symbolic
// links, because the files of a mounted ConfigMap are links.
func (d *enrollmentDir) state() string {
	entries, err := os.ReadDir(d.path)
	if err != nil {
		return err.Error()
	}
	var seen strings.Builder
	if info, err := os.Stat(d.path); err == nil {
		fmt.Fprintln(&seen, ownershipOf(info))
	}
	for _, entry := range entries {
		if !isEnrollment(entry.Name()) {
			continue
		}
		info, err := os.Stat(filepath.Join(d.path, entry.Name()))
		if err != nil {
			fmt.Fprintf(&seen, "%s %v\n", entry.Name(), err)
			continue
		}
		fmt.Fprintf(&seen, "%s %d %d %s\n", entry.Name(), info.Size(), info.ModTime().UnixNano(), ownershipOf(info))
	}
	return seen.String()
}

// isEnrollment reports whether a file is an enrollment.
func isEnrollment(name string) bool {
	return strings.HasSuffix(name, enrollment.EnrollmentSuffix) || strings.HasSuffix(name, enrollment.OldEnrollmentSuffix)
}

func (d *enrollmentDir) hasChanged() bool { return d.state() != d.lastState }

// load reads the enrollments and returns one error for each unusable file, and for each file that
// other users can write to, which is used nevertheless. If the directory cannot be read, load returns no
// enrollments: they may have been withdrawn, so nothing may be approved by them.
func (d *enrollmentDir) load() (Enrollments, []error) {
	d.lastState = d.state() // before the files are read, so that a concurrent change causes another load
	entries, err := os.ReadDir(d.path)
	if err != nil {
		return NewEnrollments(nil), []error{fmt.Errorf("reading the directory of enrollments: %w", err)}
	}
	var problems []error
	if info, err := os.Stat(d.path); err == nil {
		problems = append(problems, checkOwnership(d.path, info))
	}
	from := map[string]string{} // token ID to file name
	var list []*enrollment.Enrollment
	for _, entry := range entries {
		if !isEnrollment(entry.Name()) {
			continue
		}
		path := filepath.Join(d.path, entry.Name())
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
			problems = append(problems, checkOwnership(path, info))
		}
		record, err := readEnrollment(path)
		if err != nil {
			problems = append(problems, fmt.Errorf("%s: %w", entry.Name(), err))
			continue
		}
		if first, taken := from[record.ID]; taken {
			// It is unknown which of the two files is valid, so neither is used.
			problems = append(problems, fmt.Errorf("%s and %s are enrollments of the same join token %s; neither "+
				"is used", first, entry.Name(), record.ID))
			list = slices.DeleteFunc(list, func(other *enrollment.Enrollment) bool { return other.ID == record.ID })
			continue
		}
		from[record.ID] = entry.Name()
		list = append(list, record)
	}
	return NewEnrollments(list), slices.DeleteFunc(problems, func(err error) bool { return err == nil })
}

const maxEnrollmentBytes = 64 << 10 // above the limit of ParseEnrollment, which reports a larger file

func readEnrollment(path string) (*enrollment.Enrollment, error) {
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
		return nil, errors.Join(err, errors.New("it is not a file"))
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("opening the enrollment: %w", err)
	}
	defer file.Close()
	content, err := io.ReadAll(io.LimitReader(file, maxEnrollmentBytes))
	if err != nil {
		return nil, fmt.Errorf("reading the enrollment: %w", err)
	}
	return enrollment.ParseEnrollment(content)
}

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
