//go:build rpm

package packages

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/dnf"
)

// bench makes stand-in packages and repositories of them, and a root to install
// them in. Nothing touches the root of the machine that it runs on.
type bench struct {
	t    *testing.T
	dir  string
	root dnf.Host
}

func newBench(t *testing.T) *bench {
	t.Helper()
	for _, program := range []string{"rpm", "dnf", "rpmbuild", "rpmsign", "createrepo_c", "modifyrepo_c", "gpg"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Fatalf("%s is not installed (make deps installs it): the real dnf cannot be tried", program)
		}
	}
	if os.Geteuid() != 0 {
		t.Fatal("not root: rpm cannot enter a root of its own, so the real dnf cannot be tried")
	}
	dir := t.TempDir()
	t.Setenv("HOME", dir) // where Debian's rpm has its database, and rpmbuild and gpg their files
	t.Setenv("GNUPGHOME", filepath.Join(dir, "gnupg"))
	b := &bench{t: t, dir: dir, root: dnf.Host{Root: filepath.Join(dir, "root"), Release: "9"}}
	b.write("root/etc/dnf/dnf.conf", "[main]\ngpgcheck=1\nskip_if_unavailable=False\nretries=1\ntimeout=5\n")
	b.write("root/etc/os-release", "ID=rhel\nVERSION_ID=9.4\nPLATFORM_ID=platform:el9\n")
	b.write("root/etc/yum.repos.d/.keep", "")
	return b
}

func (b *bench) write(name, content string) string {
	b.t.Helper()
	file := filepath.Join(b.dir, name)
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		b.t.Fatal(err)
	}
	return file
}

func (b *bench) run(name string, args ...string) string {
	b.t.Helper()
	out, err := exec.Command(name, args...).CombinedOutput()
	if err != nil {
		b.t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
	return string(out)
}

// key makes a throw-away key and gives the file of its public half.
func (b *bench) key(name string) string {
	b.t.Helper()
	if err := os.MkdirAll(os.Getenv("GNUPGHOME"), 0o700); err != nil {
		b.t.Fatal(err)
	}
	b.run("gpg", "--batch", "--passphrase", "", "--quick-generate-key", name, "rsa2048", "sign", "1d")
	b.t.Cleanup(func() { _ = exec.Command("gpgconf", "--kill", "gpg-agent").Run() })
	return b.write(name+".asc", b.run("gpg", "--batch", "--armor", "--export", name))
}

// build makes RPMs in a repository's directory; each is NAME-VERSION-RELEASE.
func (b *bench) build(repository string, nvrs ...string) {
	b.t.Helper()
	args := []string{
		"-bb", "--quiet", "--define", "_topdir " + filepath.Join(b.dir, "build"), "--define", "_rpmdir " + filepath.Join(b.dir, repository),
	}
	for _, nvr := range nvrs {
		release := strings.LastIndex(nvr, "-")
		version := strings.LastIndex(nvr[:release], "-")
		args = append(args, b.write("spec/"+nvr+".spec", "Name: "+nvr[:version]+"\nVersion: "+nvr[version+1:release]+"\nRelease: "+nvr[release+1:]+`
Summary: Stands in for the real one
License: Apache-2.0
BuildArch: noarch
%description
It has nothing in it.
%files
`))
	}
	b.run("rpmbuild", args...)
}

func (b *bench) sign(repository, key string) {
	b.t.Helper()
	files, err := filepath.Glob(filepath.Join(b.dir, repository, "noarch", "*.rpm"))
	if err != nil || len(files) == 0 {
		b.t.Fatalf("no packages in %s: %v", repository, err)
	}
	gpg, err := exec.LookPath("gpg")
	if err != nil {
		b.t.Fatal(err)
	}
	b.run("rpmsign", append([]string{"--define", "_gpg_name " + key, "--define", "__gpg " + gpg, "--addsign"}, files...)...)
}

// offer makes the metadata of a repository and adds it to the root's
// configuration, with the given lines.
func (b *bench) offer(repository string, lines ...string) {
	b.t.Helper()
	b.run("createrepo_c", "--quiet", filepath.Join(b.dir, repository))
	b.configure(repository, append(lines, "baseurl=file://"+filepath.Join(b.dir, repository))...)
}

func (b *bench) configure(id string, lines ...string) {
	b.t.Helper()
	b.write("root/etc/yum.repos.d/"+id+".repo", "["+id+"]\nname="+id+"\n"+strings.Join(lines, "\n")+"\n")
}
