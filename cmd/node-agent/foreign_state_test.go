// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hcp-node-agent/hcp-node-agent/internal/bootstrap"
	"github.com/hcp-node-agent/hcp-node-agent/internal/joinstate"
	"github.com/hcp-node-agent/hcp-node-agent/internal/leave"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/request"
	"github.com/hcp-node-agent/hcp-node-agent/internal/service"
	"github.com/hcp-node-agent/hcp-node-agent/internal/status"
	"github.com/hcp-node-agent/hcp-node-agent/internal/upgrade"
	"github.com/hcp-node-agent/hcp-node-agent/test/bustest"
	"github.com/hcp-node-agent/hcp-node-agent/test/compatibility"
	"github.com/hcp-node-agent/hcp-node-agent/test/flowtest"
	"github.com/hcp-node-agent/hcp-node-agent/test/waittest"
)

// A document that a newer agent has written, with one field more, is refused by every command that reads it. Nothing
// on the disk changes.
func TestStateOfNewerAgentIsRefused(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("upgrade and leave require root")
	}
	bustest.Start(t) // a system bus without services: upgrade requires one, and no command can reach those of this host
	const joined, joining = true, false
	for name, test := range map[string]struct {
		file     string
		before   string // where the document has one field more
		commands string
		joined   bool // the join has finished
	}{
		"join state":                      {joinstate.StateFile, `"nodeName"`, "join upgrade leave status service", joined},
		"overrides":                       {joinstate.OverridesFile, `"overrides"`, "join upgrade", joined},
		"overrides while joining":         {joinstate.OverridesFile, `"name"`, "join service", joining},
		"software":                        {joinstate.SoftwareFile, `"release"`, "join upgrade status", joined},
		"software while joining":          {joinstate.SoftwareFile, `"image"`, "join service status", joining},
		"network migration":               {"network-migration.json", `"backup"`, "join upgrade leave", joined},
		"network migration while joining": {"network-migration.json", `"uplink"`, "join leave service", joining},
		"bridge record":                   {joinstate.BridgeRecordFile, `"migratedAt"`, "status", joined},
		"purge":                           {joinstate.PurgeFile, `"transaction"`, "leave", joined},
		"join token":                      {joinstate.JoinTokenFile, "nodeName:", "join service", joining},
		"previous generation":             {joinstate.PreviousFile, `"config"`, "rollback", joined},
		"ledger":                          {"ledger.log", "", "join upgrade leave status", joined},
		"data in the ledger":              {"ledger.log", `"unfinished"`, "join upgrade leave status", joined},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			writeState(t, dir, test.file, test.joined)
			path := filepath.Join(dir, test.file)
			switch {
			case test.before == "":
				appendRecord(t, path, `{"type":"undone","seq":6,"key":"file:/etc/a","future":true}`)
			case test.file == joinstate.JoinTokenFile:
				replaceInFile(t, path, test.before, "future: true\n"+test.before)
			case test.file == "ledger.log":
				replaceInLog(t, path, test.before, `"future":true,`+test.before)
			default:
				replaceInFile(t, path, test.before, `"future": true, `+test.before)
			}
			before := readTree(t, dir)
			options := request.Options{StateDir: dir}
			upgradeWith := func(options upgrade.Options) func(context.Context) error {
				return func(ctx context.Context) error { _, err := upgrade.Upgrade(ctx, options); return err }
			}
			commands := map[string]func(context.Context) error{
				"join":     func(ctx context.Context) error { _, err := bootstrap.Join(ctx, options); return err },
				"upgrade":  upgradeWith(upgrade.Options{Options: options}),
				"rollback": upgradeWith(upgrade.Options{Options: options, Rollback: true}),
				"leave": func(ctx context.Context) error {
					_, err := leave.Run(ctx, leave.Options{Options: options, Purge: true})
					return err
				},
				"status": func(ctx context.Context) error { _, err := status.Get(ctx, dir); return err },
				// The service reads the ledger of a joined host only for drift, and reports the error as a finding.
				"service": func(ctx context.Context) error { return service.Run(ctx, service.Options{Options: options}) },
			}
			for command := range strings.FieldsSeq(test.commands) {
				err := commands[command](waittest.Context(t))
				if report.CodeOf(err) != report.Refused || strings.Count(err.Error(), `"future"`) != 1 ||
					!strings.HasPrefix(string(report.RemedyOf(err)), "dnf upgrade 'hcp-node-*'") {
					t.Errorf("%s: %v", command, err)
				}
				if diff := cmp.Diff(before, readTree(t, dir)); diff != "" {
					t.Errorf("%s changed the state directory (-before +after):\n%s", command, diff)
				}
			}
		})
	}
}

// writeState writes the state directory of a host that has joined, or whose join has not finished, with one document
// of the newest release.
func writeState(t *testing.T, dir, document string, joined bool) {
	t.Helper()
	book, err := ledger.Open(dir, ledger.Drivers{Paths: &ledger.Paths{}})
	flowtest.NoError(t, err)
	_, err = book.TrackExternal(t.Context(), "files")
	flowtest.NoError(t, err)
	flowtest.NoError(t, book.Close())
	releases := compatibility.Releases(t)
	content, err := os.ReadFile(filepath.Join(releases[len(releases)-1], "state", document))
	flowtest.NoError(t, err)
	flowtest.NoError(t, os.WriteFile(filepath.Join(dir, document), content, 0o600))
	state := joinstate.State{NodeName: "worker-7", Hosted: true, Started: time.Unix(1, 0)}
	if joined {
		state.Finished = time.Unix(2, 0)
	}
	flowtest.NoError(t, joinstate.Write(dir, state))
}

func replaceInFile(t *testing.T, name, before, after string) {
	t.Helper()
	content, err := os.ReadFile(name)
	flowtest.NoError(t, err)
	changed := strings.Replace(string(content), before, after, 1)
	if changed == string(content) {
		t.Fatalf("%s does not contain %s", name, before)
	}
	flowtest.NoError(t, os.WriteFile(name, []byte(changed), 0o600))
}

// appendRecord appends a record with its checksum to the log of a ledger.
func appendRecord(t *testing.T, name, body string) {
	t.Helper()
	log, err := os.OpenFile(name, os.O_APPEND|os.O_WRONLY, 0)
	flowtest.NoError(t, err)
	defer log.Close()
	_, err = fmt.Fprintln(log, withChecksum(body))
	flowtest.NoError(t, err)
}

// replaceInLog replaces the first occurrence of a text in the log of a ledger, and corrects the checksum.
func replaceInLog(t *testing.T, name, before, after string) {
	t.Helper()
	content, err := os.ReadFile(name)
	flowtest.NoError(t, err)
	var changed strings.Builder
	for line := range strings.Lines(string(content)) {
		_, body, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		fmt.Fprintln(&changed, withChecksum(strings.Replace(body, before, after, 1)))
	}
	if changed.String() == string(content) {
		t.Fatalf("%s does not contain %s", name, before)
	}
	flowtest.NoError(t, os.WriteFile(name, []byte(changed.String()), 0o600))
}

// withChecksum returns a line of the log of a ledger.
func withChecksum(body string) string {
	return fmt.Sprintf("%08x %s", crc32.Checksum([]byte(body), crc32.MakeTable(crc32.Castagnoli)), body)
}

// readTree returns the contents of all files below a directory, by name.
func readTree(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	flowtest.NoError(t, filepath.WalkDir(dir, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			files[name] = "directory"
			return err
		}
		content, err := os.ReadFile(name)
		files[name] = string(content)
		return err
	}))
	return files
}
