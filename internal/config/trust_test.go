// SPDX-License-Identifier: Apache-2.0

package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

func TestCheckOwnership(t *testing.T) {
	for name, test := range map[string]struct {
		mode          os.FileMode
		owner, caller int
		remedy        string
	}{
		"/dev/null":                 {os.ModeDevice | os.ModeCharDevice | 0o666, 0, 1000, ""},
		"root's, read by root":      {0o600, 0, 0, ""},
		"root's, readable by all":   {0o644, 0, 0, ""},
		"root's, read by a user":    {0o644, 0, 1000, ""},
		"a user's own":              {0o640, 1000, 1000, ""},
		"a user's, read by root":    {0o600, 1000, 0, "chown root: /etc/a.yaml"},
		"a user's, read by another": {0o644, 1000, 1001, "chown root: /etc/a.yaml"},
		"group can write":           {0o664, 0, 0, "chmod go-w /etc/a.yaml"},
		"writable by all":           {0o602, 0, 0, "chmod go-w /etc/a.yaml"},
		"a user's, writable by all": {0o666, 1000, 0, "chown root: /etc/a.yaml && chmod go-w /etc/a.yaml"},
	} {
		problem := checkOwnership("/etc/a.yaml", test.mode, test.owner, test.caller)
		if (problem == nil) != (test.remedy == "") || problem != nil && string(problem.Remedy) != test.remedy {
			t.Errorf("%s: %+v, want the remedy %q", name, problem, test.remedy)
		}
	}
}

// No part of the configuration is used if others can write to any of its files.
func TestLoadRefusesFilesThatOthersCanWrite(t *testing.T) {
	const head = "apiVersion: hcp-node-agent.io/v1alpha1\nkind: JoinConfig\n"
	write := func(t *testing.T, path, content string, mode os.FileMode) string {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), mode); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, mode); err != nil { // regardless of the umask
			t.Fatal(err)
		}
		return path
	}
	for name, modes := range map[string][2]os.FileMode{
		"the file":  {0o666, 0o600},
		"a drop-in": {0o600, 0o620},
		"both":      {0o666, 0o622},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			file := write(t, filepath.Join(dir, "config.yaml"), head+"userData: /a b/stub\nnonsense: 1\n", modes[0])
			dropIn := write(t, filepath.Join(dir, "config.d", "99.yaml"), head+"ignitionOverrides: [/evil]\n", modes[1])
			_, err := Load(Source{File: file, Required: true})
			if report.CodeOf(err) != report.Usage || strings.Contains(err.Error(), "nonsense") {
				t.Fatalf("Load() = %v, code %d", err, report.CodeOf(err))
			}
			for path, mode := range map[string]os.FileMode{file: modes[0], dropIn: modes[1]} {
				refused := mode&0o022 != 0
				if strings.Contains(err.Error(), path+": file ignored: users other than root can write to it") != refused ||
					strings.Contains(string(report.RemedyOf(err)), "chmod go-w "+path) != refused {
					t.Errorf("%s with the mode %o: %v; remedy %s", path, mode, err, report.RemedyOf(err))
				}
			}
		})
	}
	dir := t.TempDir()
	file := write(t, filepath.Join(dir, "config.yaml"), head, 0o666)
	if e := Explain(Source{File: file}); len(e.Settings) > 0 || len(e.Problems) != 1 {
		t.Errorf("Explain() = %+v", e)
	}
}
