// SPDX-License-Identifier: Apache-2.0

package osimage

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/dnf"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/test/reporttest"
)

func TestCheckLibraries(t *testing.T) {
	program, err := os.ReadFile("/bin/sh")
	if err != nil {
		t.Fatal(err)
	}
	needs, err := requiredGlibc("/bin/sh")
	if err != nil || needs == nil {
		t.Fatalf("/bin/sh requires %v, %v", needs, err)
	}
	symbol := "GLIBC_2" // of a version such as GLIBC_2.34
	tooNew := bytes.ReplaceAll(program, []byte(symbol), []byte("GLIBC_9"))
	dir := t.TempDir()
	for name, content := range map[string][]byte{"program": program, "too-new": tooNew, "script": []byte("#!/bin/sh\n")} {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o755); err != nil { //nolint:gosec // programs
			t.Fatal(err)
		}
	}
	files := []dnf.PackageFile{
		{Path: "/program", Mode: unix.S_IFREG | 0o755},
		{Path: "/script", Mode: unix.S_IFREG | 0o755},
		{Path: "/link", Mode: unix.S_IFLNK | 0o777},
		{Path: "/configuration", Mode: unix.S_IFREG | 0o644},
	}
	if err := checkLibraries(t.Context(), dir, files); err != nil {
		t.Errorf("checkLibraries() = %v", err)
	}
	err = checkLibraries(t.Context(), dir, append(files, dnf.PackageFile{Path: "/too-new", Mode: unix.S_IFREG | 0o755}))
	reporttest.CheckFailure(t, err, report.Refused, "/too-new requires glibc 9.")
}
