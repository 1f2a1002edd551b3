// SPDX-License-Identifier: Apache-2.0

// Package nodeimage makes packages and OS images of the kubelet and the CRI-O of the test machine.
package nodeimage

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hcp-node-agent/hcp-node-agent/test/rpms"
	"github.com/hcp-node-agent/hcp-node-agent/test/vm"
)

// Versions of the packages. PreviousRelease is of the minor release of OpenShift before the two others.
var (
	PreviousRelease = map[string]string{
		"openshift-kubelet": "4.20.6-202511041212.p0.el9",
		"cri-o":             "1.33.5-2.rhaos4.20.el9",
	}
	FirstRelease = map[string]string{
		"openshift-kubelet": "4.21.0-202510291212.p0.el9",
		"cri-o":             "1.34.0-2.rhaos4.21.el9",
	}
	NextRelease = map[string]string{
		"openshift-kubelet": "4.21.7-202511191212.p0.el9",
		"cri-o":             "1.34.1-1.rhaos4.21.el9",
	}
)

// nodeFiles are the files of the packages.
var nodeFiles = map[string][]string{
	"openshift-kubelet": {"/usr/bin/kubelet"},
	"cri-o": {
		"/usr/bin/crio", "/usr/bin/pinns", "/usr/lib/systemd/system/crio.service",
		"/usr/lib/systemd/system/crio-wipe.service",
	},
}

// MoveFiles moves kubelet and CRI-O from a machine to a directory, which it returns.
func MoveFiles(ctx context.Context, t *testing.T, machine *vm.Machine) string {
	t.Helper()
	source := t.TempDir()
	for _, files := range nodeFiles {
		list := strings.Join(files, " ")
		var packed bytes.Buffer
		_, err := machine.RunStream(ctx, "tar -C / -c "+strings.ReplaceAll(list, " /", " ")[1:]+" | gzip -1", nil, &packed,
			os.Stderr)
		must(t, err)
		unpack := exec.CommandContext(ctx, "tar", "-C", source, "-xz")
		unpack.Stdin = &packed
		must(t, unpack.Run())
		_, err = machine.Output(ctx, "rm "+list)
		must(t, err)
	}
	_, err := machine.Output(ctx, "systemctl daemon-reload")
	must(t, err)
	return source
}

// BuildPackages builds RPMs of kubelet and CRI-O, which are in source, in a repository's directory.
func BuildPackages(env *rpms.Environment, source string, versions map[string]string, repository string) {
	for name, files := range nodeFiles {
		nvr, list := name+"-"+versions[name], strings.Join(files, " ")
		version, release, _ := strings.Cut(versions[name], "-")
		spec := env.Write(nvr+".spec",
			"%define debug_package %{nil}\n%define __os_install_post %{nil}\nAutoReqProv: no\nName: "+name+"\nVersion: "+version+
				"\nRelease: "+release+
				"\nSummary: Stands in for the real one\nLicense: Apache-2.0\n%description\nIt has the files of the test machine.\n"+
				"%install\nfor f in "+list+"; do install -D "+source+"$f %{buildroot}$f; done\n%files\n"+strings.Join(files, "\n")+
				"\n")
		env.Run("rpmbuild", "-bb", "--quiet", "--define", "_topdir "+filepath.Join(env.Dir, "build"), "--define",
			"_rpmdir "+filepath.Join(env.Dir, repository), "--define", "_build_id_links none", "--define",
			"_binary_payload w1.gzdio", spec)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
