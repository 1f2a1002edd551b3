// SPDX-License-Identifier: Apache-2.0

package approver

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/test/certtest"
)

func TestEnrollmentDirectory(t *testing.T) {
	dir := t.TempDir()
	d := enrollmentDir{path: dir}
	put := func(name string, content []byte) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	encoded := func(i issuedToken) []byte {
		content, err := i.enrollment.Encode()
		if err != nil {
			t.Fatal(err)
		}
		return content
	}
	check := func(what string, count int, problems ...string) Enrollments {
		t.Helper()
		if !d.hasChanged() {
			t.Errorf("%s: the change is not seen", what)
		}
		enrollments, recorded := d.load()
		if enrollments.Len() != count || len(recorded) != len(problems) {
			t.Fatalf("%s: %d enrollments, problems %v; want %d, %q", what, enrollments.Len(), recorded, count, problems)
		}
		for i, problem := range problems {
			if !strings.Contains(recorded[i].Error(), problem) {
				t.Errorf("%s: %v, want %q", what, recorded[i], problem)
			}
		}
		if d.hasChanged() {
			t.Errorf("%s: it changes by being read", what)
		}
		return enrollments
	}
	ca := certtest.NewCA(t, "ca").PEM
	one, two := issue(t, "worker-1", ca, time.Now(), time.Hour), issue(t, "worker-2", ca, time.Now(), time.Hour)
	if enrollments, problems := d.load(); enrollments.Len() != 0 || len(problems) != 0 {
		t.Errorf("an empty directory has %d enrollments and %v", enrollments.Len(), problems)
	}
	put("one.yaml", encoded(one))
	put("README", []byte("not an enrollment"))
	check("one", 1)
	put("broken.yaml", []byte("x"))
	if err := os.Mkdir(filepath.Join(dir, "dir.yaml"), 0o700); err != nil {
		t.Fatal(err)
	}
	put("two.enrollment", encoded(two))
	enrollments := check("broken ones beside good ones", 2, "broken.yaml: reading the enrollment",
		"dir.yaml: it is not a file")
	if enrollments.byID[two.ID] == nil || len(enrollments.byNode["worker-1"]) != 1 {
		t.Errorf("%+v", enrollments)
	}
	put("huge.yaml", make([]byte, 1<<20))
	put("same.yaml", encoded(one))
	check("one enrollment twice", 1, "broken.yaml", "dir.yaml",
		"huge.yaml: reading the enrollment: the file is larger than 16 KiB",
		"one.yaml and same.yaml are enrollments of the same join token")
	chmod := func(path string, mode os.FileMode) {
		t.Helper()
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
	}
	chmod(filepath.Join(dir, "two.enrollment"), 0o664)
	chmod(dir, 0o777)
	check("writable by others", 1, "can write to "+dir+" (owner", "broken", "dir", "huge", "one.yaml and",
		"two.enrollment (owner")
	d.path = filepath.Join(dir, "gone")
	check("no directory", 0, "reading the directory of enrollments")
}

func TestOwnership(t *testing.T) {
	for name, test := range map[string]struct {
		ownership
		remedy report.Remedy
	}{
		"root's":                     {ownership{0, 0o644}, ""},
		"the caller's":               {ownership{1000, 0o600}, ""},
		"another user's":             {ownership{1001, 0o600}, "chown root: /e"},
		"writable by the group":      {ownership{0, 0o664}, "chmod go-w /e"},
		"directory for all, sticky":  {ownership{0, fs.ModeDir | fs.ModeSticky | 0o777}, "chmod go-w /e"},
		"another user's, for others": {ownership{1001, 0o666}, "chown root: /e && chmod go-w /e"},
	} {
		err := test.check("/e", 1000)
		if (err != nil) != (test.remedy != "") || report.RemedyOf(err) != test.remedy {
			t.Errorf("%s: %v, remedy %q, want %q", name, err, report.RemedyOf(err), test.remedy)
		}
	}
}
