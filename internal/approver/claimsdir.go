package approver

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hcp-node-agent/hcp-node-agent/internal/ticket"
)

// enrollmentDir is a directory of enrollment files. It is read again when a file is added, changed or
// removed.
type enrollmentDir struct {
	path      string
	lastState string // result of state at the last load
}

// state returns the names, sizes and modification times of the files. It follows symbolic links,
// because the files of a mounted ConfigMap are links.
func (d *enrollmentDir) state() string {
	entries, err := os.ReadDir(d.path)
	if err != nil {
		return err.Error()
	}
	var seen strings.Builder
	for _, entry := range entries {
		if !strings.HasSuffix(entry.Name(), ticket.EnrollmentSuffix) {
			continue
		}
		info, err := os.Stat(filepath.Join(d.path, entry.Name()))
		if err != nil {
			fmt.Fprintf(&seen, "%s %v\n", entry.Name(), err)
			continue
		}
		fmt.Fprintf(&seen, "%s %d %d\n", entry.Name(), info.Size(), info.ModTime().UnixNano())
	}
	return seen.String()
}

func (d *enrollmentDir) hasChanged() bool { return d.state() != d.lastState }

// load reads the enrollments and returns one error for each unusable file. If the directory
// cannot be read, load returns no enrollments: they may have been withdrawn, so nothing may be
// approved by them.
func (d *enrollmentDir) load() (Enrollments, []error) {
	d.lastState = d.state() // before the files are read, so that a concurrent change causes another load
	entries, err := os.ReadDir(d.path)
	if err != nil {
		return NewEnrollments(nil), []error{fmt.Errorf("reading the directory of claims: %w", err)}
	}
	var problems []error
	from := map[string]string{} // token ID to file name
	var list []*ticket.Enrollment
	for _, entry := range entries {
		if !strings.HasSuffix(entry.Name(), ticket.EnrollmentSuffix) {
			continue
		}
		claim, err := readEnrollment(filepath.Join(d.path, entry.Name()))
		if err != nil {
			problems = append(problems, fmt.Errorf("%s: %w", entry.Name(), err))
			continue
		}
		if first, taken := from[claim.ID]; taken {
			// It is unknown which of the two files is valid, so neither is used.
			problems = append(problems, fmt.Errorf("%s and %s are claims of the same ticket %s; neither is used", first, entry.Name(), claim.ID))
			list = slices.DeleteFunc(list, func(other *ticket.Enrollment) bool { return other.ID == claim.ID })
			continue
		}
		from[claim.ID] = entry.Name()
		list = append(list, claim)
	}
	return NewEnrollments(list), problems
}

const maxEnrollmentBytes = 64 << 10 // above the limit of ParseEnrollment, which reports a larger file

func readEnrollment(path string) (*ticket.Enrollment, error) {
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
		return nil, errors.Join(err, errors.New("it is not a file"))
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("opening the claim: %w", err)
	}
	defer file.Close()
	content, err := io.ReadAll(io.LimitReader(file, maxEnrollmentBytes))
	if err != nil {
		return nil, fmt.Errorf("reading the claim: %w", err)
	}
	return ticket.ParseEnrollment(content)
}
