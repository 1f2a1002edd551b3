// SPDX-License-Identifier: Apache-2.0

package deployment

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostfs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/hostclass"
)

// Digests of images.
var (
	first  = "sha256:" + strings.Repeat("1", 64)
	second = "sha256:" + strings.Repeat("2", 64)
	third  = "sha256:" + strings.Repeat("3", 64)
)

const repository = "registry.example.com/os"

// fakePrograms are bootc and rpm-ostree in PATH. Both print the deployments of a status, and record other commands.
type fakePrograms struct {
	dir   string
	root  string   // of the host's files
	lines []string // the progress
}

// newPrograms returns programs with a status. Only names are installed. A failure is the standard error of other
// commands, which then fail.
func newPrograms(t *testing.T, status Status, failure string, names ...string) *fakePrograms {
	t.Helper()
	f := &fakePrograms{dir: t.TempDir(), root: t.TempDir()}
	outputs := map[string]string{"bootc": bootcStatus(status), "rpm-ostree": rpmOSTreeStatus(status)}
	for _, name := range names {
		f.write(t, name+".status", outputs[name], 0o600)
		f.write(t, name, fmt.Sprintf(`#!/bin/sh
[ "$1" = status ] && exec cat '%[1]s/%[2]s.status'
[ "$*" = kargs ] && echo "ro quiet console=tty0 nosmt" && exit
echo "${HTTPS_PROXY:+proxy }%[2]s $*" >>'%[1]s/record'
[ -s '%[1]s/failure' ] && cat '%[1]s/failure' >&2 && exit 1
echo "progress of $1"
`, f.dir, name), 0o700)
	}
	f.write(t, "record", "", 0o600)
	f.write(t, "failure", failure, 0o600)
	t.Setenv("PATH", f.dir+":/usr/bin:/bin")
	return f
}

func (f *fakePrograms) write(t *testing.T, name, content string, mode os.FileMode) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(f.dir, name), []byte(content), mode); err != nil {
		t.Fatal(err)
	}
}

// host returns the host with the programs.
func (f *fakePrograms) host(t *testing.T, class hostclass.Class) *Host {
	t.Helper()
	tree, err := hostfs.OpenTree(f.root)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tree.Close() })
	return NewHost(class, tree, func(line string) { f.lines = append(f.lines, line) })
}

// commands returns the recorded commands.
func (f *fakePrograms) commands(t *testing.T) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(f.dir, "record"))
	if err != nil {
		t.Fatal(err)
	}
	return strings.ReplaceAll(strings.TrimSpace(string(content)), "\n", "; ")
}

func bootcStatus(s Status) string {
	entry := func(d *Deployment) string {
		if d == nil {
			return "null"
		}
		return fmt.Sprintf(`{"image": {"image": {"image": %q}, "imageDigest": %q}, "incompatible": %t,
 "ostree": {"checksum": %q}}`, d.Image, d.Digest, d.Modified, d.Checksum)
	}
	return fmt.Sprintf(`{"apiVersion": "org.containers.bootc/v1", "kind": "BootcHost", "status": {"staged": %s,
 "booted": %s, "rollback": %s, "rollbackQueued": %t}}`,
		entry(s.Staged), entry(&s.Booted), entry(s.Rollback), s.RollbackQueued)
}

func rpmOSTreeStatus(s Status) string {
	entry := func(d *Deployment, more string) string {
		if d == nil {
			return ""
		}
		requested := "[]"
		if d.Modified {
			requested = `["jq"]`
		}
		return fmt.Sprintf(`{%s "osname": "rhcos", "checksum": %q, "requested-packages": %s,
 "container-image-reference": "ostree-unverified-registry:%s", "container-image-reference-digest": %q},`,
			more, d.Checksum, requested, d.Image, d.Digest)
	}
	list := entry(s.Staged, `"staged": true,`) + entry(&s.Booted, `"booted": true,`)
	if s.RollbackQueued {
		list = entry(s.Rollback, "") + list
	} else {
		list += entry(s.Rollback, "")
	}
	return `{"deployments": [` + strings.TrimSuffix(list, ",") + `]}`
}

// imageOf returns a deployment of an image that was requested with a digest.
func imageOf(digest string) *Deployment {
	return &Deployment{Image: repository + "@" + digest, Digest: digest, Checksum: digest[len("sha256:"):]}
}
