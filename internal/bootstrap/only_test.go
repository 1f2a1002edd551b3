// SPDX-License-Identifier: Apache-2.0

package bootstrap

import (
	"testing"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/request"
)

func TestOnlyRefusesDependentSteps(t *testing.T) {
	for _, names := range [][]string{{"network", "files"}, {"nothing"}} {
		if _, err := RunOnly(t.Context(), request.Options{StateDir: t.TempDir()}, names); report.CodeOf(err) != report.Usage {
			t.Errorf("%q: %v", names, err)
		}
	}
}

func TestOnlyRefusesResume(t *testing.T) {
	_, err := RunOnly(t.Context(), request.Options{Resume: true, StateDir: t.TempDir()}, []string{"network"})
	if report.CodeOf(err) != report.Usage {
		t.Errorf("%v", err)
	}
}
