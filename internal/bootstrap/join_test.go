// SPDX-License-Identifier: Apache-2.0

package bootstrap

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hcp-node-agent/hcp-node-agent/internal/config"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/request"
)

// Invalid inputs must be reported before anything is opened or written.
func TestJoinRefusesInvalidInputsBeforeAnyChange(t *testing.T) {
	for name, test := range map[string]struct {
		options request.Options
		want    string
	}{
		"no user data":      {request.Options{Config: config.Defaults()}, "no user data was given"},
		"nothing begun":     {request.Options{Resume: true}, "no join is in progress"},
		"no such user data": {request.Options{Config: config.Join{UserData: "/gone/user-data.ign"}}, "--user-data"},
		"not even a dir":    {request.Options{Config: config.Join{UserData: t.TempDir()}}, "--user-data"},
	} {
		t.Run(name, func(t *testing.T) {
			test.options.StateDir = filepath.Join(t.TempDir(), "state")
			did, err := Join(t.Context(), test.options)
			if did || err == nil || !strings.Contains(err.Error(), test.want) || report.CodeOf(err) != report.Usage {
				t.Errorf("changed %t, error %v, code %d", did, err, report.CodeOf(err))
			}
			if _, err := os.Stat(test.options.StateDir); err == nil {
				t.Error("a state directory was made")
			}
		})
	}
}
