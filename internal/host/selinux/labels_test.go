// SPDX-License-Identifier: Apache-2.0

package selinux

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/command"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostfs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostinfo"
)

func TestLabelQueriesFitCommandLine(t *testing.T) {
	types := map[string]hostfs.FileType{
		"/etc/b": hostfs.Regular, "/etc/a": hostfs.Regular, "/etc": hostfs.Directory, "/etc/link": hostfs.Symlink,
		"/etc/new\nline": hostfs.Regular, "/dev/x": hostfs.Other, "/none": hostfs.Absent,
	}
	want := []labelQuery{
		{"file", []string{"/etc/a", "/etc/b"}},
		{"dir", []string{"/etc"}},
		{"lnk_file", []string{"/etc/link"}},
	}
	if diff := cmp.Diff(want, labelQueries(types), cmp.AllowUnexported(labelQuery{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	many := map[string]hostfs.FileType{}
	for i := range 100 {
		many["/"+strings.Repeat("x", 2000)+string(rune('A'+i))] = hostfs.Regular
	}
	queried := 0
	for _, query := range labelQueries(many) {
		if size := len(strings.Join(query.paths, " ")); size > maxArgumentBytes {
			t.Errorf("a command line of %d bytes", size)
		}
		queried += len(query.paths)
	}
	if queried != len(many) || len(labelQueries(many)) < 3 {
		t.Errorf("asked for %d of %d in %d runs", queried, len(many), len(labelQueries(many)))
	}
	if got := labelQueries(map[string]hostfs.FileType{
		"/" + strings.Repeat("x", 2*maxArgumentBytes): hostfs.Regular,
	}); len(got) != 1 {
		t.Errorf("one path that is too long makes %d runs", len(got))
	}
}

func TestParseLabels(t *testing.T) {
	out := "/etc/a\tsystem_u:object_r:etc_t:s0\n/proc/1\t<<none>>\n/with\ttab\tsystem_u:object_r:tab_t:s0:c1,c2\n" +
		"not a line\n/empty\t\n/last\tsystem_u:object_r:last_t"
	want := map[string][]byte{
		"/etc/a": []byte("system_u:object_r:etc_t:s0\x00"), "/with\ttab": []byte("system_u:object_r:tab_t:s0:c1,c2\x00"),
		"/last": []byte("system_u:object_r:last_t\x00"),
	}
	if diff := cmp.Diff(want, parseLabels(out)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

const fileContexts = `/.*	system_u:object_r:default_t:s0
/etc(/.*)?	system_u:object_r:etc_t:s0
/etc/a	-d	system_u:object_r:a_dir_t:s0
/etc/a	-l	system_u:object_r:a_link_t:s0
/etc/a	--	system_u:object_r:a_file_t:s0
/run/.*	<<none>>
`

// The real matchpathcon, with a policy of an image; this does not require
// SELinux in the kernel.
func TestLabelsOfImagePolicy(t *testing.T) {
	if !command.Exists("matchpathcon") {
		t.Skip("matchpathcon is not installed (Debian: apt-get install selinux-utils)")
	}
	tree, root := openTree(t)
	s := Policy{Tree: tree}
	if contexts, err := s.imageContexts(); err != nil || contexts != nil {
		t.Errorf("an image without a policy: %v, %v", contexts, err)
	}
	write(t, root, "etc/selinux/config", "# comment\nSELINUX=enforcing\nSELINUXTYPE=targeted\n")
	write(t, root, "etc/selinux/targeted/contexts/files/file_contexts", fileContexts)
	for kind, want := range map[hostfs.FileType]string{
		hostfs.Regular:   "a_file_t",
		hostfs.Directory: "a_dir_t",
		hostfs.Symlink:   "a_link_t",
	} {
		contexts, err := s.imageContexts()
		if err != nil || contexts == nil {
			t.Fatalf("%v, %v", contexts, err)
		}
		defer contexts.Close()
		got, err := policyLabels(t.Context(), fileContextsArguments(contexts),
			map[string]hostfs.FileType{"/etc/a": kind, "/etc/b c": kind, "/run/x": kind, "-x": kind})
		if err != nil {
			t.Fatal(err)
		}
		labels := map[string][]byte{
			"/etc/a":   []byte("system_u:object_r:" + want + ":s0\x00"),
			"/etc/b c": []byte("system_u:object_r:etc_t:s0\x00"),
		}
		if diff := cmp.Diff(labels, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", kind, diff)
		}
	}
	write(t, root, "etc/selinux/config", "SELINUXTYPE=../../../outside\n")
	if contexts, err := s.imageContexts(); err != nil || contexts != nil {
		t.Errorf("a policy of another place: %v, %v", contexts, err)
	}
}

// A new file has its label before it has its name; a restored file has its
// previous label.
func TestLabelOnlyAppliesToNewFiles(t *testing.T) {
	if os.Geteuid() != 0 || hostinfo.IsSELinuxEnabled() {
		t.Skip("needs root, and a kernel that takes any label as it has no SELinux")
	}
	tree, root := openTree(t)
	write(t, root, "there", "")
	attr := hostfs.Attr{Mode: 0o700, UID: os.Geteuid(), GID: os.Getegid()}
	attr.Label = []byte("system_u:object_r:new_t:s0\x00")
	old := attr
	old.Xattrs = map[string][]byte{hostfs.SELinuxXattr: []byte("system_u:object_r:old_t:s0\x00")}
	batch := tree.NewBatch()
	defer batch.Abort()
	for _, err := range []error{
		batch.Stage("/file", nil, attr), batch.Stage("/old", nil, old), tree.Mkdir("/directory", attr),
		tree.Symlink("x", "/link", attr),
		tree.SetAttr("/there", attr), tree.Mkdir("/directory", attr), batch.Commit(),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for p, want := range map[string]string{
		"/file": string(attr.Label), "/directory": string(attr.Label), "/link": string(attr.Label), "/there": "",
		"/old": "system_u:object_r:old_t:s0\x00",
	} {
		if info, err := tree.Lstat(p); err != nil || string(info.Xattrs[hostfs.SELinuxXattr]) != want {
			t.Errorf("%s has label %q, %v", p, info.Xattrs[hostfs.SELinuxXattr], err)
		}
	}
}

func openTree(t *testing.T) (*hostfs.Tree, string) {
	t.Helper()
	root := t.TempDir()
	tree, err := hostfs.OpenTree(root)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tree.Close() })
	return tree, root
}

func write(t *testing.T, root, name, content string) {
	t.Helper()
	file := filepath.Join(root, name)
	if err := os.MkdirAll(filepath.Dir(file), 0o750); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}
