// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/hcp-node-agent/hcp-node-agent/internal/crio"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostfs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition/adapt"
	"github.com/hcp-node-agent/hcp-node-agent/internal/machine"
	"github.com/hcp-node-agent/hcp-node-agent/internal/node"
)

// softwareOf returns the software of a payload with files, on a host with the other
// files.
func softwareOf(t *testing.T, payload, onHost map[string]string) *Software {
	t.Helper()
	var files []string
	for _, name := range sortedKeys(payload) {
		files = append(files, fmt.Sprintf(`{"path":%q,"contents":{"source":"data:;base64,%s"}}`, name,
			base64.StdEncoding.EncodeToString([]byte(payload[name]))))
	}
	loaded, err := ignition.LoadPayload(fmt.Appendf(nil, `{"ignition":{"version":"3.2.0"},"storage":{"files":[%s]}}`,
		strings.Join(files, ",")))
	if err != nil {
		t.Fatal(err)
	}
	root := t.TempDir()
	for name, content := range onHost {
		name = filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil { //nolint:gosec // as on a host
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(content), 0o644); err != nil { //nolint:gosec // as on a host
			t.Fatal(err)
		}
	}
	tree, err := hostfs.OpenTree(root)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tree.Close() })
	return NewSoftware(&Session{Run: &Run{}, Host: machine.Reader{Files: tree}}, loaded)
}

// CRI-O uses the last file of its directory, whether it belongs to the payload or
// the host.
func TestDefaultRuntimeIsThatOfTheLastFile(t *testing.T) {
	const dir = "/etc/crio/crio.conf.d/"
	runtime := func(name string) string { return "[crio.runtime]\ndefault_runtime = \"" + name + "\"\n" }
	for name, test := range map[string]struct {
		payload, host map[string]string
		want          string
	}{
		"the release's": {map[string]string{dir + "00-default": runtime("crun")}, nil, "crun"},
		"none":          {map[string]string{dir + "00-default": "[crio.runtime]\n"}, nil, ""},
		"of a ContainerRuntimeConfig": {
			map[string]string{dir + "00-default": runtime("crun"), dir + "01-ctrcfg-defaultRuntime": runtime("runc")},
			nil,
			"runc",
		},
		"of the host, later": {
			map[string]string{dir + "00-default": runtime("crun")},
			map[string]string{dir + "10-crio.conf": runtime("runc")},
			"runc",
		},
		"of the host, before the pool's": {
			map[string]string{dir + "01-ctrcfg-defaultRuntime": runtime("runc")},
			map[string]string{dir + "00-crun.conf": runtime("crun")},
			"runc",
		},
		"of the host, which is replaced": {
			map[string]string{dir + "00-default": runtime("crun")},
			map[string]string{dir + "00-default": runtime("runc")},
			"crun",
		},
		"the last of the host's": {
			map[string]string{dir + "00-default": runtime("crun")},
			map[string]string{
				dir + "10-a.conf": runtime("kata"),
				dir + "20-b.conf": runtime("runc"),
				dir + "30-c.conf": "[crio.image]\n",
			},
			"runc",
		},
		"of the host, that has no syntax": {
			map[string]string{dir + "00-default": runtime("crun")}, map[string]string{dir + "10-x": "["}, "crun",
		},
	} {
		if got := softwareOf(t, test.payload, test.host).defaultRuntime(); got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}

// The package of the pool's default runtime is required.
func TestCommandsContainTheDefaultRuntime(t *testing.T) {
	s := softwareOf(t, map[string]string{
		"/etc/crio/crio.conf.d/01-ctrcfg-defaultRuntime": "[crio.runtime]\ndefault_runtime = \"runc\"\n",
	}, nil)
	if commands := s.commands(&Plan{Plan: &adapt.Plan{}}); !commands["runc"] {
		t.Errorf("commands %v", commands)
	}
}

// The repair of CAs restarts kubelet without a payload.
func TestDiagnosticsNeedNoPayload(t *testing.T) {
	s := &Session{Run: &Run{}}
	if got, want := s.DiagnosticsHost(nil), node.JoinedHost(nil, crio.NetworkDirectory); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
}
