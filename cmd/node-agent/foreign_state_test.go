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
	"github.com/hcp-node-agent/hcp-node-agent/internal/inputs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/joinstate"
	"github.com/hcp-node-agent/hcp-node-agent/internal/leave"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/service"
	"github.com/hcp-node-agent/hcp-node-agent/internal/status"
	"github.com/hcp-node-agent/hcp-node-agent/internal/upgrade"
	"github.com/hcp-node-agent/hcp-node-agent/test/flowtest"
)

// A state directory that a newer agent has written, with one field more, is refused by every command that reads
// it. Nothing on the disk changes.
func TestStateOfNewerAgentIsRefused(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("upgrade and leave require root")
	}
	for name, write := range map[string]func(*testing.T, string){
		"join state": func(t *testing.T, dir string) {
			replaceInFile(t, filepath.Join(dir, joinstate.StateFile), `"nodeName"`, `"future": true, "nodeName"`)
		},
		"ledger": func(t *testing.T, dir string) {
			appendRecord(t, filepath.Join(dir, "ledger.log"), `{"type":"undone","seq":1,"key":"file:/etc/a","future":true}`)
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			flowtest.NoError(t, joinstate.Write(dir, joinstate.State{
				NodeName: "worker-7", Hosted: true, Started: time.Unix(1, 0), Finished: time.Unix(2, 0),
			}))
			book, err := ledger.Open(dir, ledger.Drivers{Paths: &ledger.Paths{}})
			flowtest.NoError(t, err)
			_, err = book.TrackExternal(t.Context(), "files")
			flowtest.NoError(t, err)
			flowtest.NoError(t, book.Close())
			write(t, dir)
			before := readTree(t, dir)
			options := inputs.Options{StateDir: dir}
			for command, run := range map[string]func(context.Context) error{
				"join": func(ctx context.Context) error { _, err := bootstrap.Join(ctx, options); return err },
				"upgrade": func(ctx context.Context) error {
					_, err := upgrade.Upgrade(ctx, upgrade.Options{Options: options})
					return err
				},
				"leave": func(ctx context.Context) error {
					_, err := leave.Run(ctx, leave.Options{Options: options})
					return err
				},
				"status":  func(ctx context.Context) error { _, err := status.Get(ctx, dir); return err },
				"service": func(ctx context.Context) error { return service.Run(ctx, service.Options{Options: options}) },
			} {
				if name == "ledger" && command == "service" {
					continue // it reads the ledger only for drift, and reports the error as a finding
				}
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				err := run(ctx)
				if report.CodeOf(err) != report.Refused || !strings.Contains(err.Error(), `"future"`) ||
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
	sum := crc32.Checksum([]byte(body), crc32.MakeTable(crc32.Castagnoli))
	if _, err := fmt.Fprintf(log, "%08x %s\n", sum, body); err != nil {
		t.Fatal(err)
	}
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
