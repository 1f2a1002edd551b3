// SPDX-License-Identifier: Apache-2.0

package joinstate

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hcp-node-agent/hcp-node-agent/internal/config"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

func TestMaintenanceRoundTrip(t *testing.T) {
	dir := t.TempDir()
	if record, err := ReadMaintenance(dir); record != nil || err != nil || CheckNoMaintenance(dir) != nil {
		t.Fatalf("without a record: %+v, %v", record, err)
	}
	want := Maintenance{
		TypeMeta: report.Meta("MaintenanceState"), Started: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Update: true,
		Reboot:       true,
		DrainTimeout: config.Duration(time.Minute), Transaction: "7", Drained: true, Updated: true, RebootedFrom: "boot",
		Step: "update",
	}
	if err := WriteMaintenance(dir, want); err != nil {
		t.Fatal(err)
	}
	got, err := ReadMaintenance(dir)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(&want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if info, err := os.Stat(filepath.Join(dir, MaintenanceFile)); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	err = CheckNoMaintenance(dir)
	if report.CodeOf(err) != report.Refused || report.RemedyOf(err) != ResumeMaintenance ||
		!strings.Contains(err.Error(), "2026-01-02T03:04:05Z and has not finished") {
		t.Errorf("an unfinished maintenance: %v", err)
	}
}

// A record of another version must not be ignored or be read in part: the node would remain cordoned.
func TestMaintenanceOfAnotherVersionIsRefused(t *testing.T) {
	for name, content := range map[string]string{
		"version": `{"apiVersion":"hcp-node-agent.io/v2","kind":"MaintenanceState"}`,
		"kind":    `{"apiVersion":"hcp-node-agent.io/v1alpha1","kind":"JoinState"}`,
		"field":   `{"apiVersion":"hcp-node-agent.io/v1alpha1","kind":"MaintenanceState","next":true}`,
		"damaged": `{`,
		"empty":   ``,
	} {
		dir := t.TempDir()
		if err := SaveFile(dir, MaintenanceFile, []byte(content)); err != nil {
			t.Fatal(err)
		}
		record, err := ReadMaintenance(dir)
		if record != nil || err == nil || !strings.Contains(err.Error(), MaintenanceFile) || report.RemedyOf(err) == "" {
			t.Errorf("%s: %+v, %v", name, record, err)
		}
	}
}
