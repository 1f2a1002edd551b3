package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hcp-node-agent/hcp-node-agent/internal/config"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
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
	if text.err != "" || !strings.Contains(text.out, "  join          ") {
		t.Errorf("code %d, %s%s", text.code, text.out, text.err)
	}
	got := runCommandLine(t, "", "doctor", "--config", file, "--bundle", bundle, "--output", "json")
	document := decodeDocument(t, got.out)
	findings, _ := document["findings"].([]any)
	if got.code != text.code || document["kind"] != "DoctorReport" || document["exitCode"] != float64(got.code) || len(findings) == 0 || got.err != "" {
		t.Errorf("code %d and %d, %s%s", text.code, got.code, got.out, got.err)
	}
	made, _ := document["bundle"].(map[string]any)
	if info, err := os.Stat(bundle); err != nil || info.Mode().Perm() != 0o600 || made["file"] != bundle {
		t.Errorf("%v, %v, %v", info, err, made)
	}
	again := runCommandLine(t, "", "doctor", "--config", file, "--bundle", bundle)
	want := commandResult{report.Usage, "", "hcp-node-agent doctor: " + bundle + " is there already; a bundle never replaces a file\n# give --bundle the name of a file that is not there yet\n"}
	if again != want {
		t.Errorf("%+v", again)
	}
}
