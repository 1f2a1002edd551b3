// SPDX-License-Identifier: Apache-2.0

package osimage

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/test/registrytest"
)

// installHelper puts a credential helper with valid credentials into PATH. It returns a file that the
// helper creates.
func installHelper(t *testing.T, name string) string {
	t.Helper()
	dir := t.TempDir()
	trace := filepath.Join(dir, "started")
	script := fmt.Sprintf(
		"#!/bin/sh\n: >%s\necho '{\"Username\":\"node\",\"Secret\":%q,\"ServerURL\":\"x\"}'\n", trace, testPassword,
	)
	//nolint:gosec // a program
	if err := os.WriteFile(filepath.Join(dir, "docker-credential-"+name), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	return trace
}

// Preflight and plan read images, and must not start programs that a payload names.
func TestOpenStartsNoCredentialHelpers(t *testing.T) {
	server := registrytest.New(t, testPassword)
	pullSpec := server.Push(t, "os", newImage(t))
	trace := installHelper(t, "site")
	helpers := fmt.Sprintf(`"credHelpers":{%q:"site"}`, server.Host)
	auths := strings.Trim(string(registrytest.PullSecret(server.Host, testPassword)), "{}") + "}}"
	for name, test := range map[string]struct {
		secret, registries, dropIn string
		refused                    bool
	}{
		"pull secret":                {secret: "{" + helpers + "}", refused: true},
		"pull secret, other letters": {secret: "{" + strings.ToUpper(helpers[:12]) + helpers[12:] + "}", refused: true},
		"registries.conf":            {registries: "credential-helpers = [\"site\"]\n", refused: true},
		"drop-in":                    {dropIn: "credential-helpers = [\"site\"]\n", refused: true},
		"credentials beside the helper": {
			secret:     "{" + helpers + "," + auths + "}",
			registries: "credential-helpers = [\"site\"]\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			client := newClient(trust(server))
			client.PullSecret, client.RegistriesConf = []byte(test.secret), []byte(test.registries)
			client.DropIns = map[string][]byte{"site.conf": []byte(test.dropIn)}
			_, err := client.Open(t.Context(), pullSpec)
			if (err != nil) != test.refused || err != nil && !strings.Contains(
				err.Error(), "only the credential helper site may have credentials",
			) {
				t.Errorf("Open() = %v", err)
			}
			if err != nil && (report.CodeOf(err) != report.CredentialRefused || report.RemedyOf(err) == "") {
				t.Errorf("code %d, remedy %q", report.CodeOf(err), report.RemedyOf(err))
			}
			if _, err := os.Stat(trace); err == nil {
				t.Error("the helper was started")
				_ = os.Remove(trace)
			}
		})
	}
}
