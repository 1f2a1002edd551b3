// SPDX-License-Identifier: Apache-2.0

package approver

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hcp-node-agent/hcp-node-agent/internal/enrollment"
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
		if !strings.HasSuffix(entry.Name(), enrollment.EnrollmentSuffix) {
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

func (d *enrollmentDir) hasChanged() bool { return d.state() != d.lastState }

// load reads the enrollments and returns one error for each unusable file, and for each file that
// other users can write to, which is used nevertheless. If the directory cannot be read, load returns no
// enrollments: they may have been withdrawn, so nothing may be approved by them.
func (d *enrollmentDir) load() (Enrollments, []error) {
	d.lastState = d.state() // before the files are read, so that a concurrent change causes another load
	entries, err := os.ReadDir(d.path)
	if err != nil {
		return newEnrollments(nil), []error{fmt.Errorf("reading the directory of enrollments: %w", err)}
	}
	var problems []error
	if info, err := os.Stat(d.path); err == nil {
		problems = append(problems, checkOwnership(d.path, info))
	}
	from := map[string]string{} // token ID to file name
	var list []*enrollment.Enrollment
	for _, entry := range entries {
		if !strings.HasSuffix(entry.Name(), enrollment.EnrollmentSuffix) {
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
	return newEnrollments(list), slices.DeleteFunc(problems, func(err error) bool { return err == nil })
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
