// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hcp-node-agent/hcp-node-agent/internal/config"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/test/clitest"
)

// doctor runs on the test host. Text and JSON output have the same exit code, and each finding is
// printed once.
func TestDoctor(t *testing.T) {
	dir := t.TempDir()
	file, bundle := filepath.Join(dir, "config.yaml"), filepath.Join(dir, "b.tar.gz")
	if err := os.WriteFile(file, []byte("apiVersion: "+report.APIVersion+"\nkind: "+config.Kind+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	text := runCommandLine(t, "", "doctor", "--config", file)
	if text.Err != "" || !strings.Contains(text.Out, "  join          ") {
		t.Errorf("code %d, %s%s", text.Code, text.Out, text.Err)
	}
	got := runCommandLine(t, "", "doctor", "--config", file, "--bundle", bundle, "--output", "json")
	document := clitest.DecodeDocument(t, got.Out)
	findings, _ := document["findings"].([]any)
	if got.Code != text.Code || document["kind"] != "DoctorReport" || document["exitCode"] != float64(got.Code) ||
		len(findings) == 0 || got.Err != "" {
		t.Errorf("code %d and %d, %s%s", text.Code, got.Code, got.Out, got.Err)
	}
	made, _ := document["bundle"].(map[string]any)
	if info, err := os.Stat(bundle); err != nil || info.Mode().Perm() != 0o600 || made["file"] != bundle {
		t.Errorf("%v, %v, %v", info, err, made)
	}
	again := runCommandLine(t, "", "doctor", "--config", file, "--bundle", bundle)
	want := clitest.Result{
		Code: report.Usage,
		Err: "hcp-node-agent doctor: " + bundle +
			" already exists; a bundle never replaces a file\n# pass a file to --bundle that does not exist yet\n",
	}
	if again != want {
		t.Errorf("%+v", again)
	}
}
