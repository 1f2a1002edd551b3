// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// TestInputFiles checks, for one file of each kind, whether its change runs the tests of a package again.
func TestInputFiles(t *testing.T) {
	root, err := filepath.Abs(repository)
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		directory           string
		included, unrelated []string
	}{
		{
			directory: "test/vm/e2e",
			included: []string{
				"cmd/node-agent/main.go", "cmd/node-admin/main.go", // the installed programs
				"internal/ledger/ledger.go", "internal/ignition/adapt/table.yaml", // what they consist of
				"test/vm/e2e/join_test.go", "test/vm/e2e/testdata/subscription-manager", "test/vm/tap.go", // the test
				"test/testenv/testdata/configure-ovs.sh", "test/vm/ovn/build.sh", "test/vm/mortal/main.go",
				"test/ostree/rpmostree.go", "test/controlplane/go.sum", "test/controlplane/images/pause/main.go", // environment
				"test/image/packages.txt", "test/image/overlay/usr/bin/grubby", "test/oracle/build.sh",
				"systemd/hcp-node-agent.service", "packaging/rpm/hcp-node-agent.spec", "deploy/hosted-base/crd.yaml",
				"examples/cloud-init/first-boot.yaml", "docs/br-ex.md", "go.sum", "Makefile",
			},
			unrelated: []string{
				"README.md", "internal/ledger/ledger_test.go", "test/vm/network/stage_test.go",
				"test/differential/harness_test.go", "test/compatibility/compatibility_test.go", ".ci/run", listFile, recordFile,
				"test/image/README.md",
			},
		},
		{
			directory: "test/vm/network",
			included:  []string{"test/vm/network/stage_test.go", "test/vm/uplink/kinds.go", "internal/ovs/migrate/stages.go"},
			unrelated: []string{"docs/br-ex.md", "test/vm/e2e/join_test.go", "test/vm/ovn/build.sh"},
		},
	} {
		files, err := inputFiles(t.Context(), root, test.directory)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range test.included {
			if _, err := os.Stat(filepath.Join(root, file)); err != nil || !slices.Contains(files, file) {
				t.Errorf("%s is no input of %s: %v", file, test.directory, err)
			}
		}
		for _, file := range test.unrelated {
			if slices.Contains(files, file) {
				t.Errorf("%s is an input of %s", file, test.directory)
			}
		}
	}
}

// TestHashFiles changes a tree and checks that each change of a file changes the hash.
func TestHashFiles(t *testing.T) {
	dir := t.TempDir()
	hash := func() string {
		t.Helper()
		sum, err := hashFiles(dir, []string{"absent", "file", "link"})
		if err != nil {
			t.Fatal(err)
		}
		return sum
	}
	path, link := filepath.Join(dir, "file"), filepath.Join(dir, "link")
	seen := []string{hash()}
	for _, change := range []func() error{
		func() error { return os.WriteFile(path, []byte("a"), 0o600) },
		func() error { return os.WriteFile(path, []byte("b"), 0o600) },
		func() error { return os.Chmod(path, 0o400) },
		func() error { return os.Symlink("file", link) },
		func() error { return os.Remove(path) },
	} {
		if err := change(); err != nil {
			t.Fatal(err)
		}
		seen = append(seen, hash())
	}
	for i, sum := range seen {
		if slices.Contains(seen[:i], sum) {
			t.Errorf("change %d has the hash of an earlier tree: %v", i, seen)
		}
	}
}
