// SPDX-License-Identifier: Apache-2.0

// Package rpms creates stand-in packages and repositories for tests, and a root directory in
// which the real dnf installs them. It does not modify the root of the host.
package rpms

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/dnf"
)

// Environment is a directory with repositories and a root directory.
type Environment struct {
	Dir    string
	Root   dnf.Host
	Script string // scriptlets, such as %post, of the packages that are built next
	Header string // lines of the header, such as Requires, of the packages that are built next

	t *testing.T
}

// New creates an empty test environment. The test fails if rpm's or dnf's commands are missing. The commands
// in the directory HCP_TEST_DNF, which test/rpm/dnf5.sh creates, replace those of the host: dnf5 and rpm 6.
func New(t *testing.T) *Environment {
	t.Helper()
	if commands := os.Getenv("HCP_TEST_DNF"); commands != "" {
		t.Setenv("PATH", commands+":"+os.Getenv("PATH"))
	}
	for _, program := range []string{"rpm", "dnf", "rpmbuild", "rpmsign", "createrepo_c", "modifyrepo_c", "gpg"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Fatalf("%s is not installed (make deps installs it): the real dnf cannot be tried", program)
		}
	}
	if os.Geteuid() != 0 {
		t.Fatal("not root: rpm cannot enter a root of its own, so the real dnf cannot be tried")
	}
	dir := t.TempDir()
	t.Setenv("HOME", dir) // location of Debian's rpm database and of files of rpmbuild and gpg
	t.Setenv("GNUPGHOME", filepath.Join(dir, "gnupg"))
	b := &Environment{t: t, Dir: dir, Root: dnf.Host{Root: filepath.Join(dir, "root"), Release: "9"}}
	b.Write("root/etc/dnf/dnf.conf", "[main]\ngpgcheck=1\nskip_if_unavailable=False\nretries=1\ntimeout=5\n")
	b.Write("root/etc/os-release", "ID=rhel\nVERSION_ID=9.4\nPLATFORM_ID=platform:el9\n")
	b.Write("root/etc/yum.repos.d/.keep", "")
	return b
}

// Write writes a file below the directory and returns its path.
func (b *Environment) Write(name, content string) string {
	b.t.Helper()
	file := filepath.Join(b.Dir, name)
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		b.t.Fatal(err)
	}
	return file
}

// Run runs a command that must succeed and returns its output.
func (b *Environment) Run(name string, args ...string) string {
	b.t.Helper()
	out, err := exec.Command(name, args...).CombinedOutput()
	if err != nil {
		b.t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
	return string(out)
}

// GenerateKey generates a temporary key and returns the path of its public key.
func (b *Environment) GenerateKey(name string) string {
	b.t.Helper()
	if err := os.MkdirAll(os.Getenv("GNUPGHOME"), 0o700); err != nil {
		b.t.Fatal(err)
	}
	b.Run("gpg", "--batch", "--passphrase", "", "--quick-generate-key", name, "rsa2048", "sign", "1d")
	b.t.Cleanup(func() { _ = exec.Command("gpgconf", "--kill", "gpg-agent").Run() })
	return b.Write(name+".asc", b.Run("gpg", "--batch", "--armor", "--export", name))
}

// Build builds RPMs in a repository's directory. Each nvr is NAME-VERSION-RELEASE.
func (b *Environment) Build(repository string, nvrs ...string) {
	b.t.Helper()
	args := []string{
		"-bb", "--quiet", "--define", "_topdir " + filepath.Join(b.Dir, "build"), "--define",
		"_rpmdir " + filepath.Join(b.Dir, repository),
	}
	for _, nvr := range nvrs {
		release := strings.LastIndex(nvr, "-")
		version := strings.LastIndex(nvr[:release], "-")
		args = append(args, b.Write("spec/"+nvr+".spec",
			"Name: "+nvr[:version]+"\nVersion: "+nvr[version+1:release]+"\nRelease: "+nvr[release+1:]+`
Summary: Stands in for the real one
License: Apache-2.0
BuildArch: noarch
`+b.Header+`%description
It has nothing in it.
%files
`+b.Script))
	}
	b.Run("rpmbuild", args...)
}

// Sign signs all packages of a repository with the named key.
func (b *Environment) Sign(repository, key string) {
	b.t.Helper()
	files, err := filepath.Glob(filepath.Join(b.Dir, repository, "*", "*.rpm"))
	if err != nil || len(files) == 0 {
		b.t.Fatalf("no packages in %s: %v", repository, err)
	}
	gpg, err := exec.LookPath("gpg")
	if err != nil {
		b.t.Fatal(err)
	}
	b.Run("rpmsign", append([]string{"--define", "_gpg_name " + key, "--define", "__gpg " + gpg, "--addsign"},
		files...)...)
}

// UpdateRepository creates the metadata of a repository. dnf reads it at its next start: without that, dnf uses what it
// has read in the same second, even with metadata_expire=0.
func (b *Environment) UpdateRepository(repository string) {
	b.t.Helper()
	b.Run("createrepo_c", "--quiet", filepath.Join(b.Dir, repository))
	b.Run("dnf", "--quiet", "--installroot", b.Root.Root, "--releasever", b.Root.Release, "clean", "expire-cache")
}

// AddRepository creates the metadata of a repository and adds the repository, with the given lines, to
// the root's configuration.
func (b *Environment) AddRepository(repository string, lines ...string) {
	b.t.Helper()
	b.UpdateRepository(repository)
	b.ConfigureRepository(repository, append(lines, "baseurl=file://"+filepath.Join(b.Dir, repository))...)
}

// ConfigureRepository adds a repository to the root's configuration.
func (b *Environment) ConfigureRepository(id string, lines ...string) {
	b.t.Helper()
	b.Write("root/etc/yum.repos.d/"+id+".repo", "["+id+"]\nname="+id+"\n"+strings.Join(lines, "\n")+"\n")
}
