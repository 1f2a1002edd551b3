// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"encoding/base64"
	"encoding/pem"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hcp-node-agent/hcp-node-agent/internal/config"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition"
	"github.com/hcp-node-agent/hcp-node-agent/internal/preflight"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/request"
	"github.com/hcp-node-agent/hcp-node-agent/internal/software"
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
		options := request.Options{Config: test.config, StateDir: filepath.Join(dir, "state")}
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

// Binaries that are not installed are no problem while doctor cannot determine whether the OS image contains them.
func TestUndecidedSoftware(t *testing.T) {
	machineConfig := func(image string) *ignition.Payload {
		content := `{"spec":{"osImageURL":"` + image + `"}}`
		payload, err := ignition.LoadPayload([]byte(`{"ignition":{"version":"3.2.0"},"storage":{"files":[{"path":"` +
			ignition.MachineConfigPath + `","contents":{"source":"data:,` + url.PathEscape(content) + `"}}]}}`))
		if err != nil {
			t.Fatal(err)
		}
		return payload
	}
	kubelet := []preflight.Program{{Name: "kubelet", Package: "openshift-kubelet"}}
	for name, test := range map[string]struct {
		image     string
		software  *software.Contents
		missing   []preflight.Program
		undecided bool
	}{
		"image that was not read": {"quay.io/example@sha256:0123", nil, kubelet, true},
		"image that was read":     {"quay.io/example@sha256:0123", &software.Contents{}, kubelet, false},
		"no image":                {"", nil, kubelet, false},
		"all are installed":       {"quay.io/example@sha256:0123", nil, nil, false},
	} {
		facts := preflight.PayloadFacts{MissingPrograms: test.missing, MissingUnits: []string{"crio.service"}}
		found := undecidedSoftware(machineConfig(test.image), test.software, &facts)
		if len(found) == 1 != test.undecided || (facts.MissingUnits == nil) != test.undecided {
			t.Errorf("%s: findings %+v, facts %+v", name, found, facts)
		}
		if test.undecided && !strings.HasPrefix(found[0].Message, "not installed: kubelet; ") {
			t.Errorf("%s: %q", name, found[0].Message)
		}
	}
}
