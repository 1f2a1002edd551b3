// SPDX-License-Identifier: Apache-2.0

package bootstrap

import (
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/v1/empty"

	"github.com/hcp-node-agent/hcp-node-agent/internal/config"
	"github.com/hcp-node-agent/hcp-node-agent/internal/crio"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostfs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition"
	"github.com/hcp-node-agent/hcp-node-agent/internal/joinstate"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
	"github.com/hcp-node-agent/hcp-node-agent/internal/machine"
	"github.com/hcp-node-agent/hcp-node-agent/internal/node/pods"
	"github.com/hcp-node-agent/hcp-node-agent/internal/plan"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/request"
	"github.com/hcp-node-agent/hcp-node-agent/internal/steps"
	"github.com/hcp-node-agent/hcp-node-agent/test/flowtest"
	"github.com/hcp-node-agent/hcp-node-agent/test/registrytest"
)

// encodeFiles returns an Ignition config with files of mode 0600.
func encodeFiles(files map[string]string) []byte {
	var all []string
	for name, content := range files {
		all = append(all, fmt.Sprintf(`{"path":%q,"mode":384,"overwrite":true,"contents":{"source":"data:;base64,%s"}}`,
			name, base64.StdEncoding.EncodeToString([]byte(content))))
	}
	return fmt.Appendf(nil, `{"ignition":{"version":"3.2.0"},"storage":{"files":[%s]}}`, strings.Join(all, ","))
}

// renewal is a joined host whose registry accepts one password, with the pull secret of a payload.
type renewal struct {
	*Flow

	registry *registrytest.Registry
	path     string
}

func startRenewal(t *testing.T, accepted, present string) *renewal {
	t.Helper()
	r := &renewal{registry: registrytest.New(t, accepted)}
	root := t.TempDir()
	tree, err := hostfs.OpenTree(root)
	flowtest.NoError(t, err)
	t.Cleanup(func() { tree.Close() })
	m := &machine.Machine{Tree: tree}
	m.Facts.Arch = "amd64"
	drivers := m.Drivers()
	drivers.Paths.SELinux = nil
	m.Ledger, err = ledger.Open(t.TempDir(), drivers)
	flowtest.NoError(t, err)
	t.Cleanup(func() { m.Ledger.Close() })
	r.Flow = NewFlow(plan.Run{Dir: t.TempDir()}, m)
	r.path = filepath.Join(root, pods.PullSecretPath)
	flowtest.NoError(t, os.MkdirAll(filepath.Dir(r.path), 0o700))
	machineConfig := fmt.Sprintf(`{"spec":{"osImageURL":%q}}`, r.registry.Push(t, "release/os", empty.Image))
	flowtest.NoError(t, joinstate.SaveFile(r.Run.Dir, joinstate.PayloadFile, encodeFiles(map[string]string{
		ignition.MachineConfigPath: machineConfig,
		pods.PullSecretPath:        string(r.secret(present)),
		crio.TrustAnchorsDir + "/openshift-config.crt": string(
			pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: r.registry.Certificate().Raw}),
		),
	})))
	_, err = m.Ledger.Apply(t.Context(), steps.Files, r.files(present))
	flowtest.NoError(t, err)
	return r
}

// secret returns a pull secret with a password.
func (r *renewal) secret(password string) []byte {
	return registrytest.PullSecret(r.registry.Host, password)
}

// files returns the changes of a join with a payload that contains a pull secret.
func (r *renewal) files(password string) []ledger.Change {
	uid, gid := os.Geteuid(), os.Getegid()
	file := ledger.FileChange(pods.PullSecretPath, "payload", string(r.secret(password)))
	mode := uint32(0o600)
	file.Desired.Mode, file.Desired.UID, file.Desired.GID = &mode, &uid, &gid
	return []ledger.Change{file}
}

// check checks which password the host has, and that it is no drift.
func (r *renewal) check(t *testing.T, want string) {
	t.Helper()
	content, err := os.ReadFile(r.path)
	flowtest.NoError(t, err)
	drift, err := r.Host.Ledger.Drift(t.Context())
	flowtest.NoError(t, err)
	if string(content) != string(r.secret(want)) || len(drift) > 0 {
		t.Errorf("the host has %s, want the one with %q; drift %v", content, want, drift)
	}
}

// A new pull secret is written only if it is not worse than the present one.
func TestNewPullSecretIsTestedBeforeItIsWritten(t *testing.T) {
	for name, test := range map[string]struct {
		accepted, present, next string
		isDown                  bool
		code                    report.Code
		message                 string
	}{
		"accepted":          {accepted: "b", present: "a", next: "b"},
		"both are accepted": {present: "a", next: "b"},
		"only the present one": {
			accepted: "a", present: "a", next: "b", code: report.CredentialRefused, message: "keeps its pull secret",
		},
		"neither": {accepted: "c", present: "a", next: "b"},
		"the registry is down": {
			present: "a", next: "b", isDown: true, code: report.Failed, message: "could not be tested",
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := startRenewal(t, test.accepted, test.present)
			if test.isDown {
				r.registry.Close()
			}
			want := test.next
			if test.code != 0 {
				want = test.present
			}
			err := r.renewPullSecret(t.Context(), r.secret(test.next))
			if report.CodeOf(err) != test.code || (err != nil && !strings.Contains(err.Error(), test.message)) {
				t.Errorf("code %d, %v", report.CodeOf(err), err)
			}
			if err != nil && strings.Contains(err.Error(), string(r.secret(test.next))) {
				t.Errorf("the error contains the secret: %v", err)
			}
			r.check(t, want)
		})
	}
}

// Neither a repair nor a join with the same payload puts the former pull secret back, also after another writer, such
// as HyperShift's DaemonSet. A new payload does.
func TestRenewedPullSecretRemainsUntilTheNextPayload(t *testing.T) {
	r := startRenewal(t, "", "a")
	flowtest.NoError(t, r.renewPullSecret(t.Context(), r.secret("b")))
	r.check(t, "b")
	for _, synced := range []string{"b", "c"} { // the DaemonSet writes it in place when its label is set
		flowtest.NoError(t, os.WriteFile(r.path, r.secret(synced), 0o600))
		made, err := r.Host.Ledger.Apply(t.Context(), steps.Files, r.files("a"))
		if err != nil || len(made) > 0 {
			t.Errorf("the saved payload was written again: %v, %v", made, err)
		}
		r.check(t, synced)
	}
	made, err := r.Host.Ledger.Apply(t.Context(), steps.Files, r.files("d"))
	if err != nil || len(made) != 1 {
		t.Errorf("the next payload was not written: %v, %v", made, err)
	}
	r.check(t, "d")
}

// The administrator's own pull secret is not replaced.
func TestOwnPullSecretIsNotRenewed(t *testing.T) {
	own := string(encodeFiles(map[string]string{pods.PullSecretPath: `{"auths":{"own.example.com":{"auth":"YTpi"}}}`}))
	for name, test := range map[string]struct {
		exclude  []string
		override string
		isOwn    bool
	}{
		"of the payload":        {},
		"another exclusion":     {exclude: []string{"/etc/*"}},
		"another override":      {override: firstOverride},
		"excluded":              {exclude: []string{pods.PullSecretPath}, isOwn: true},
		"excluded by a pattern": {exclude: []string{"/var/lib/kubelet/*.json"}, isOwn: true},
		"overridden":            {override: own, isOwn: true},
	} {
		t.Run(name, func(t *testing.T) {
			r := startRenewal(t, "", "a")
			state := joinstate.State{
				Config:   config.Join{Payload: config.Payload{Exclude: test.exclude}},
				NodeName: "worker-0",
				Hosted:   true,
				Started:  time.Unix(1, 0),
				Finished: time.Unix(2, 0),
			}
			flowtest.NoError(t, joinstate.Write(r.Run.Dir, state))
			if test.override != "" {
				overrides := []joinstate.Override{{Name: "a", Config: []byte(test.override)}}
				flowtest.NoError(t, joinstate.SaveOverrides(r.Run.Dir, overrides))
			}
			run, err := prepareJoin(t.Context(), request.Options{StateDir: r.Run.Dir, Resume: true, Service: true})
			flowtest.NoError(t, err)
			r.Flow = NewFlow(run, r.Host)
			got, err := HasServedFile(t.Context(), request.Options{StateDir: run.Dir}, pods.PullSecretPath)
			if err != nil || got == test.isOwn {
				t.Errorf("HasServedFile() = %t, %v", got, err)
			}
			err = r.renewPullSecret(t.Context(), r.secret("b"))
			if (err != nil) != test.isOwn {
				t.Errorf("renewed: %v", err)
			}
			if test.isOwn {
				r.check(t, "a")
			}
		})
	}
}
