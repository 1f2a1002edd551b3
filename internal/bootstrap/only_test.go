// SPDX-License-Identifier: Apache-2.0

package bootstrap

import (
	"testing"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/request"
)

func TestOnlyRefusesDependentSteps(t *testing.T) {
	for _, names := range [][]string{{"network", "files"}, {"nothing"}} {
		options := request.Options{Only: names, StateDir: t.TempDir()}
		if _, err := RunOnly(t.Context(), options); report.CodeOf(err) != report.Usage {
			t.Errorf("%q: %v", names, err)
		}
	}
}

func TestOnlyRefusesResume(t *testing.T) {
	_, err := RunOnly(t.Context(), request.Options{
		Resume: true, Only: []string{"network"}, StateDir: t.TempDir(),
	})
	if report.CodeOf(err) != report.Usage {
		t.Errorf("%v", err)
	}
}
