// SPDX-License-Identifier: Apache-2.0

package compatibility

import (
	"context"
	"crypto/ed25519"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hcp-node-agent/hcp-node-agent/internal/enrollment"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostfs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition"
	"github.com/hcp-node-agent/hcp-node-agent/internal/joinstate"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger/resource"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ovs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ovs/migrate"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/request"
	"github.com/hcp-node-agent/hcp-node-agent/internal/software"
	"github.com/hcp-node-agent/hcp-node-agent/test/certtest"
	"github.com/hcp-node-agent/hcp-node-agent/test/flowtest"
)

// writeDocuments writes each document with all fields of its format.
func writeDocuments(t *testing.T, dir string) {
	t.Helper()
	state := filepath.Join(dir, stateDir)
	writeInputs(t, state)
	writeTokens(t, filepath.Join(dir, adminDir), state)
	flowtest.NoError(t, joinstate.SaveOverrides(state, Fill[[]joinstate.Override](t)))
	flowtest.NoError(t, joinstate.SaveSoftware(state, Fill[software.Contents](t)))
	join := Fill[joinstate.State](t)
	flowtest.NoError(t, joinstate.Write(state, join))
	current, err := joinstate.CurrentGeneration(state, join)
	flowtest.NoError(t, err)
	generation := Fill[joinstate.Generation](t)
	generation.Files = current.Files
	for _, name := range []string{joinstate.NextFile, joinstate.ReplacedFile, joinstate.PreviousFile} {
		flowtest.NoError(t, generation.Save(state, name))
	}
	flowtest.NoError(t, joinstate.WriteMaintenance(state, Fill[joinstate.Maintenance](t)))
	flowtest.NoError(t, Fill[joinstate.Images](t).Save(state))
	flowtest.NoError(t, Fill[joinstate.AdoptionRecord](t).Save(state))
	flowtest.NoError(t, joinstate.SaveRepairs(state, Fill[[]joinstate.Repair](t)))
	flowtest.NoError(t, joinstate.SavePublishedCAs(state, Fill[[]joinstate.PublishedCA](t)))
	flowtest.NoError(t, Fill[joinstate.Attempt](t).Save(state))
	flowtest.NoError(t, joinstate.SavePurge(state, "7"))
	record, err := Fill[ovs.Record](t).Encode()
	flowtest.NoError(t, err)
	flowtest.NoError(t, joinstate.SaveFile(state, joinstate.BridgeRecordFile, record))
	backup, err := Fill[ovs.Backup](t).Encode()
	flowtest.NoError(t, err)
	flowtest.NoError(t, joinstate.SaveFile(state, migrationFile, backup))
	writeLedger(t, state)
}

// writeInputs writes the user data and the payload.
func writeInputs(t *testing.T, dir string) {
	t.Helper()
	userData, err := ignition.NewUserData(ignition.Values{
		Endpoint: "ignition.example.com",
		Token:    []byte(flowtest.UUID),
		CA:       certtest.NewCA(t, "ca").PEM,
		NodePool: "clusters/example",
		Hash:     "0123abcd",
	})
	flowtest.NoError(t, err)
	content, err := userData.Encode()
	flowtest.NoError(t, err)
	flowtest.NoError(t, joinstate.SaveFile(dir, joinstate.UserDataFile, content))
	flowtest.NoError(t, joinstate.SaveFile(dir, joinstate.PayloadFile, []byte(`{"ignition":{"version":"3.4.0"}}`)))
}

// writeTokens writes a join token and its enrollment, and the join token of an unfinished join.
func writeTokens(t *testing.T, dir, state string) {
	t.Helper()
	key := ed25519.NewKeyFromSeed([]byte("not a secret: test of the format"))
	private, err := x509.MarshalPKCS8PrivateKey(key)
	flowtest.NoError(t, err)
	content, err := json.Marshal(map[string]any{
		"apiVersion": report.APIVersion,
		"kind":       enrollment.KindToken,
		"id":         strings.Repeat("0123456789abcdef", 2),
		"nodeName":   "worker-7",
		"expires":    "2026-01-02T03:04:05Z",
		"clusterCA":  []string{"SHA256:" + strings.Repeat("0123456789abcdef", 4)},
		"labels":     []string{"rack=r1"},
		"taints":     []string{"dedicated=gpu:NoSchedule"},
		"userData":   "{}",
		"clusterNetworks": []map[string]any{
			{"use": enrollment.Pods, "cidr": "10.132.0.0/14"}, {"use": enrollment.Join, "cidr": "fd98::/64"},
		},
		"privateKey": string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})),
	})
	flowtest.NoError(t, err)
	token, err := enrollment.ParseToken(content)
	flowtest.NoError(t, err)
	public := token.Enrollment(enrollment.Options{Addresses: []netip.Prefix{netip.MustParsePrefix("192.0.2.1/32")}})
	tokenFile, err := enrollment.TokenFile(dir, token)
	flowtest.NoError(t, err)
	enrollmentFile, err := enrollment.ManifestFile(dir, public)
	flowtest.NoError(t, err)
	flowtest.NoError(t, enrollment.Create(tokenFile, enrollmentFile))
	flowtest.NoError(t, request.SaveJoinToken(state, token))
}

// recorded is a driver of objects whose states are given. It changes nothing.
type recorded ledger.State

func (r recorded) Get(context.Context, ledger.Change) (ledger.State, error) {
	return ledger.State(r), nil
}
func (recorded) Set(context.Context, ledger.Change, ledger.State) error     { return nil }
func (recorded) Restore(context.Context, ledger.Change, ledger.State) error { return nil }
func (recorded) IsPartiallyRestored(ledger.Change, ledger.State, ledger.State) (bool, error) {
	return true, nil
}

// writeLedger writes a ledger with records of all types, states with all fields, and the data of each driver.
func writeLedger(t *testing.T, dir string) {
	t.Helper()
	root := t.TempDir()
	flowtest.WriteTree(t, root, map[string]string{"etc/example.conf": "before the join\n"})
	tree, err := hostfs.OpenTree(root)
	flowtest.NoError(t, err)
	defer tree.Close()
	state := Fill[ledger.State](t)
	state.Type, state.Digest = "", "" // of files
	state.Data, state.Content = nil, nil
	data := func(text string) recorded { return recorded{Present: true, Data: json.RawMessage(text)} }
	book, err := ledger.Open(dir, ledger.Drivers{
		Paths: &ledger.Paths{Tree: tree},
		Resources: map[ledger.Kind]ledger.Driver{
			ledger.Unit:                recorded(state),
			ledger.Sysctl:              recorded(state),
			resource.FirewallPortsKind: data(`{"runtime":["22/tcp"],"permanent":["22/tcp"]}`),
			ledger.KernelArguments:     recorded{Present: true},
			migrate.Kind:               data(`{"unfinished":true,"backup":` + encode(t, Fill[ovs.Backup](t)) + `}`),
		},
	})
	flowtest.NoError(t, err)
	defer book.Close()
	arguments, err := resource.KernelArguments{}.Change("example", Fill[resource.ArgumentChange](t))
	flowtest.NoError(t, err)
	unit := ledger.Change{Kind: ledger.Unit, Target: "crio.service", Reason: "example", Desired: state, Overwrite: true}
	unit.Desired.Value = "another"
	file, owner := ledger.FileChange("/etc/example.conf", "example", "of the join\n"), os.Geteuid()
	file.Desired.UID, file.Desired.GID = &owner, nil
	ports := ledger.Change{Kind: resource.FirewallPortsKind, Target: "zone public"}
	ports.Desired = ledger.State{Present: true, Value: "10250/tcp"}
	if _, err := book.Apply(t.Context(), "files", []ledger.Change{file, unit, arguments, ports}); err != nil {
		t.Fatal(err)
	}
	done, err := book.TrackExternal(t.Context(), "network", ledger.Change{Kind: migrate.Kind, Target: "br-ex"},
		ledger.Change{Kind: ledger.Sysctl, Target: "vm.panic_on_oom"})
	flowtest.NoError(t, err)
	flowtest.NoError(t, done())
	_, err = book.Revert(t.Context(), func(item ledger.Item) bool { return item.Kind == ledger.Sysctl })
	flowtest.NoError(t, err)
}

func encode(t *testing.T, value any) string {
	t.Helper()
	content, err := json.Marshal(value)
	flowtest.NoError(t, err)
	return string(content)
}
