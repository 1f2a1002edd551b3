// SPDX-License-Identifier: Apache-2.0

package bootstrap

import (
	"testing"

	"github.com/hcp-node-agent/hcp-node-agent/internal/inputs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

func TestSelectSteps(t *testing.T) {
	for _, test := range []struct {
		name  string
		names []string
		want  int
		code  report.Code
	}{
		{"the network", []string{"network"}, 1, report.Success},
		{"a step that needs the payload", []string{"network", "files"}, 0, report.Usage},
		{"no step at all", []string{"nothing"}, 0, report.Usage},
	} {
		t.Run(test.name, func(t *testing.T) {
			steps, err := selectSteps(test.names)
			if report.CodeOf(err) != test.code || len(steps) != test.want {
				t.Errorf("%d steps, %v", len(steps), err)
			}
		})
	}
}

func TestOnlyRefusesResume(t *testing.T) {
	_, err := RunOnly(t.Context(), inputs.Options{Resume: true, StateDir: t.TempDir()}, []string{"network"})
	if report.CodeOf(err) != report.Usage {
		t.Errorf("%v", err)
	}
}
