// SPDX-License-Identifier: Apache-2.0

package provision

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/dnf"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostfs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
	"github.com/hcp-node-agent/hcp-node-agent/internal/machine"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// fakeRPM is rpm on a host on which the package "runtime" owns /usr/bin/crio, and no package owns
// other files.
const fakeRPM = `#!/bin/sh
case $* in
*" -- /usr/bin/crio") printf runtime ;;
*) exit 1 ;;
esac
`

// installPrograms makes rpm and dnf the only programs in PATH.
func installPrograms(t *testing.T, rpm string) {
	t.Helper()
	dir := t.TempDir()
	for name, script := range map[string]string{"rpm": rpm, "dnf": "#!/bin/sh\nexit 1\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(script), 0o755); err != nil { //nolint:gosec // a program
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", dir)
}

// unpacked returns a directory with unpacked software: /usr/bin/kubelet and /usr/bin/crio.
func unpacked(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	files := []dnf.PackageFile{
		{Package: "openshift-kubelet", Path: "/usr/bin/kubelet", Mode: unix.S_IFREG | 0o755},
		{Package: "cri-o", Path: "/usr/bin/crio", Mode: unix.S_IFREG | 0o755},
	}
	list, err := json.Marshal(map[string]any{
		"apiVersion": report.APIVersion, "kind": "UnpackedSoftware", "files": files,
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, ".files.json"), list, 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

// Files of packages of the host must remain. Files without a package are replaced, and restored by leave.
func TestPlaceRefusesFilesOfPackages(t *testing.T) {
	for _, test := range []struct {
		existing string // file of the host
		refused  bool
	}{
		{existing: "/usr/bin/crio", refused: true},
		{existing: "/usr/bin/kubelet"},
	} {
		installPrograms(t, fakeRPM)
		root := t.TempDir()
		if err := os.MkdirAll(filepath.Join(root, "usr/bin"), 0o755); err != nil { //nolint:gosec // as on a host
			t.Fatal(err)
		}
		//nolint:gosec // a program
		if err := os.WriteFile(filepath.Join(root, test.existing), []byte("of the host"), 0o755); err != nil {
			t.Fatal(err)
		}
		tree, err := hostfs.OpenTree(root)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { tree.Close() })
		book, err := ledger.Open(t.TempDir(), ledger.Drivers{Paths: &ledger.Paths{Tree: tree}})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { book.Close() })
		packages := Packages{Host: &machine.Machine{Tree: tree, Ledger: book}}
		err = packages.Place(t.Context(), unpacked(t), []string{"openshift-kubelet", "cri-o"})
		if !test.refused {
			if err != nil || len(book.Items()) != 2 {
				t.Errorf("%s: Place() = %v after %d changes", test.existing, err, len(book.Items()))
			}
			continue
		}
		if report.CodeOf(err) != report.Refused || !strings.Contains(
			err.Error(), test.existing+" belongs to package runtime of this host",
		) ||
			!strings.Contains(string(report.RemedyOf(err)), "dnf remove runtime") {
			t.Errorf(
				"%s: Place() = %v (code %d), remedy %q", test.existing, err, report.CodeOf(err), report.RemedyOf(err),
			)
		}
		entries, err := os.ReadDir(filepath.Join(root, "usr/bin"))
		if err != nil || len(entries) != 1 || len(book.Items()) != 0 {
			t.Errorf("%s: changed %v, %v, %v", test.existing, entries, book.Items(), err)
		}
		if content, err := os.ReadFile(filepath.Join(root, test.existing)); err != nil || string(content) != "of the host" {
			t.Errorf("%s contains %q, %v", test.existing, content, err)
		}
	}
}
