// SPDX-License-Identifier: Apache-2.0

//go:build rpm

package osimage

import (
	"bytes"
	"compress/gzip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/zstd"

	"github.com/hcp-node-agent/hcp-node-agent/test/rpms"
)

// The files of stand-in packages: programs, a unit, configuration, a link, documentation and a
// directory.
const packageFiles = `/usr/bin/kubelet
/usr/bin/kubelet-link
/usr/lib/systemd/system/kubelet.service
%config(noreplace) /etc/kubernetes
%doc /usr/share/doc/kubelet
/usr/share/man/man1/kubelet.1
%ghost /var/lib/kubelet
%install
mkdir -p %{buildroot}/usr/bin %{buildroot}/usr/lib/systemd/system %{buildroot}/etc/kubernetes
mkdir -p %{buildroot}/usr/share/doc/kubelet %{buildroot}/usr/share/man/man1 %{buildroot}/var/lib/kubelet
echo program >%{buildroot}/usr/bin/kubelet
chmod 755 %{buildroot}/usr/bin/kubelet
ln -s kubelet %{buildroot}/usr/bin/kubelet-link
echo '[Service]' >%{buildroot}/usr/lib/systemd/system/kubelet.service
echo configuration >%{buildroot}/etc/kubernetes/kubelet.conf
touch %{buildroot}/usr/share/doc/kubelet/README %{buildroot}/usr/share/man/man1/kubelet.1
`

// newLayer installs a stand-in for openshift-kubelet with the real rpm, and returns the root
// directory.
func newRoot(t *testing.T, database string) string {
	t.Helper()
	env := rpms.New(t)
	env.Script = packageFiles
	env.Build("repository", "openshift-kubelet-4.19.0-1.el9")
	found, err := filepath.Glob(filepath.Join(env.Dir, "repository/noarch/*.rpm"))
	if err != nil || len(found) != 1 {
		t.Fatalf("%q, %v", found, err)
	}
	root := filepath.Join(t.TempDir(), "root")
	if err := os.MkdirAll(root, 0o755); err != nil { //nolint:gosec // as in an image
		t.Fatal(err)
	}
	env.Run("rpm", "--root", root, "--dbpath", database, "--nodeps", "--install", found[0])
	return root
}

// newLayer packs a root directory as the layer of an image.
func newLayer(t *testing.T, root, compression string) *os.File {
	t.Helper()
	archive, err := exec.Command("tar", "-C", root, "-c", "--sort=name", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	var packed bytes.Buffer
	switch compression {
	case "gzip":
		w := gzip.NewWriter(&packed)
		_, _ = w.Write(archive)
		_ = w.Close()
	case "zstd":
		w, _ := zstd.NewWriter(&packed)
		_, _ = w.Write(archive)
		_ = w.Close()
	default:
		packed.Write(archive)
	}
	name := filepath.Join(t.TempDir(), "layer")
	if err := os.WriteFile(name, packed.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	file, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { file.Close() })
	return file
}

func TestExtract(t *testing.T) {
	for _, test := range []struct{ database, compression string }{
		{"/usr/share/rpm", "gzip"},
		{"/usr/lib/sysimage/rpm", "zstd"},
		{"/usr/share/rpm", ""},
	} {
		t.Run(test.database+" "+test.compression, func(t *testing.T) {
			layer, to := newLayer(t, newRoot(t, test.database), test.compression), t.TempDir()
			files, err := Extract(t.Context(), layer, []string{"openshift-kubelet"}, t.TempDir(), to)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, file := range files {
				info, err := os.Lstat(filepath.Join(to, file.Path))
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, info.Mode().String()+" "+file.Path)
			}
			slices.Sort(got)
			want := []string{
				"-rw-r--r-- /etc/kubernetes/kubelet.conf",
				"-rw-r--r-- /usr/lib/systemd/system/kubelet.service",
				"-rwxr-xr-x /usr/bin/kubelet",
				"Lrwxrwxrwx /usr/bin/kubelet-link",
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
			content, err := os.ReadFile(filepath.Join(to, "usr/bin/kubelet"))
			if err != nil || string(content) != "program\n" {
				t.Errorf("kubelet contains %q, %v", content, err)
			}
		})
	}
}

func TestExtractRefuses(t *testing.T) {
	root := newRoot(t, "/usr/share/rpm")
	for name, test := range map[string]struct {
		change   func(root string) error
		packages []string
		want     string
	}{
		//nolint:gosec // a program
		"changed file": {
			func(root string) error { return os.WriteFile(root+"/usr/bin/kubelet", []byte("another\n"), 0o755) },
			[]string{"openshift-kubelet"},
			"unpacking /usr/bin/kubelet: its digest is sha256:",
		},
		"missing file": {
			func(root string) error { return os.Remove(root + "/etc/kubernetes/kubelet.conf") },
			[]string{"openshift-kubelet"},
			"does not contain /etc/kubernetes/kubelet.conf",
		},
		"other link": {
			func(root string) error { return os.Rename(root+"/usr/bin/kubelet", root+"/usr/bin/kubelet-link") },
			[]string{"openshift-kubelet"},
			"it is of another type",
		},
		"no database": {
			func(root string) error { return os.RemoveAll(root + "/usr/share/rpm") },
			[]string{"openshift-kubelet"},
			"reading the rpm database of the layer",
		},
		"absent package": {func(string) error { return nil }, []string{"cri-o"}, "listing the files of cri-o"},
	} {
		t.Run(name, func(t *testing.T) {
			changed := filepath.Join(t.TempDir(), "root")
			if out, err := exec.Command("cp", "-a", root, changed).CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			if err := test.change(changed); err != nil {
				t.Fatal(err)
			}
			_, err := Extract(t.Context(), newLayer(t, changed, ""), test.packages, t.TempDir(), t.TempDir())
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("Extract() = %v, want %q", err, test.want)
			}
		})
	}
}
