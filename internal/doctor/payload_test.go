// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"encoding/base64"
	"encoding/pem"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hcp-node-agent/hcp-node-agent/internal/config"
	"github.com/hcp-node-agent/hcp-node-agent/internal/inputs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// The finding about skipped checks must disappear after its remedy was applied.
func TestDoctorFetchesThePayloadOfGivenUserData(t *testing.T) {
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		io.WriteString(w, `{"ignition":{"version":"3.2.0"}}`) //nolint:errcheck // the client reports it
	}))
	defer server.Close()
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	dir := t.TempDir()
	file := filepath.Join(dir, "user-data.ign")
	content := `{"ignition":{"version":"3.2.0","config":{"merge":[{"source":"` + server.URL +
		`/ignition","httpHeaders":[` +
		`{"name":"Authorization","value":"Bearer dG9rZW4="},{"name":"NodePool","value":"clusters/demo"},` +
		`{"name":"TargetConfigVersionHash","value":"abc"}]}]},"security":{"tls":{"certificateAuthorities":[` +
		`{"source":"data:;base64,` + base64.StdEncoding.EncodeToString(ca) + `"}]}}}}`
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	without := config.Defaults()
	with := without
	with.UserData = file
	for _, test := range []struct {
		name    string
		config  config.Join
		skipped bool
	}{{"no user data", without, true}, {"user data", with, false}} {
		options := inputs.Options{Config: test.config, StateDir: filepath.Join(dir, "state")}
		document, err := Run(t.Context(), options)
		if err != nil {
			t.Fatal(err)
		}
		skipped := slices.ContainsFunc(document.Findings, func(f report.Finding) bool {
			return f.Check == "validate" && strings.HasPrefix(f.Message, "the checks that need the NodePool's payload")
		})
		if skipped != test.skipped {
			t.Errorf("%s: the checks were skipped: %v, want %v\n%+v", test.name, skipped, test.skipped, document.Findings)
		}
		if _, err := os.Stat(options.StateDir); err == nil {
			t.Errorf("%s: doctor made the state directory", test.name)
		}
	}
}
