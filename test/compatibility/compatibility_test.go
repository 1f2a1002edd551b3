// SPDX-License-Identifier: Apache-2.0

package compatibility

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/hcp-node-agent/hcp-node-agent/internal/enrollment"
	"github.com/hcp-node-agent/hcp-node-agent/internal/host/hostfs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ignition"
	"github.com/hcp-node-agent/hcp-node-agent/internal/inputs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/joinstate"
	"github.com/hcp-node-agent/hcp-node-agent/internal/kinds"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger/resource"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ovs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ovs/migrate"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/software"
	"github.com/hcp-node-agent/hcp-node-agent/test/certtest"
	"github.com/hcp-node-agent/hcp-node-agent/test/flowtest"
)

// The directories of a release.
const (
	stateDir  = "state"  // the agent's state directory
	tokensDir = "tokens" // what hcp-node-admin token create writes
)

// Files of stateDir that other packages name.
const (
	migrationFile = "network-migration.json"
	ledgerFile    = "ledger.log"
	originalsDir  = "originals"
)

// This version reads every document that a release has written.
func TestDocumentsOfReleasesAreRead(t *testing.T) {
	if IsUpdate() {
		t.Skip("the other test writes the documents")
	}
	for _, release := range Releases(t) {
		t.Run(filepath.Base(release), func(t *testing.T) { readDocuments(t, release) })
	}
}

// A change of a format is detected: the documents that this version writes have the keys and values of those of the
// newest release.
func TestFormatsAreThoseOfTheNewestRelease(t *testing.T) {
	written := t.TempDir()
	if IsUpdate() {
		written = Next(t)
		flowtest.NoError(t, os.RemoveAll(filepath.Join(written, stateDir)))
		flowtest.NoError(t, os.RemoveAll(filepath.Join(written, tokensDir)))
	}
	writeDocuments(t, written)
	releases := Releases(t)
	released := releases[len(releases)-1]
	names := listFiles(t, written)
	if diff := cmp.Diff(listFiles(t, released), names); diff != "" {
		t.Errorf("files of %s (-released +written):\n%s", released, diff)
	}
	for _, name := range names {
		CheckKeys(t, filepath.Join(released, name), keysOfFile(t, released, name), keysOfFile(t, written, name))
	}
	if diff := cmp.Diff(readDocuments(t, written), readDocuments(t, released),
		cmpopts.EquateComparable()); diff != "" {
		t.Errorf("documents of %s (-written +released):\n%s", released, diff)
	}
}

// listFiles returns the files of stateDir and tokensDir of a release.
func listFiles(t *testing.T, release string) []string {
	t.Helper()
	var names []string
	for _, dir := range []string{stateDir, tokensDir} {
		flowtest.NoError(t, fs.WalkDir(os.DirFS(release), dir, func(name string, entry fs.DirEntry, err error) error {
			if err == nil && !entry.IsDir() {
				names = append(names, name)
			}
			return err
		}))
	}
	return names
}

// keysOfFile returns the keys of a document, of the ledger with the types of the records, and none of a format that is
// not the agent's.
func keysOfFile(t *testing.T, dir, name string) []string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(dir, name))
	flowtest.NoError(t, err)
	switch {
	case filepath.Ext(name) == ".ign" || strings.Contains(name, originalsDir):
		return nil
	case filepath.Base(name) != ledgerFile:
		return Keys(t, content)
	}
	var keys []string
	for line := range strings.Lines(string(content)) {
		_, body, _ := strings.Cut(line, " ")
		var record struct{ Type string }
		flowtest.NoError(t, json.Unmarshal([]byte(body), &record))
		for _, key := range Keys(t, []byte(body)) {
			keys = append(keys, record.Type+": "+key)
		}
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}

// writeDocuments writes each document with all fields of its format.
func writeDocuments(t *testing.T, dir string) {
	t.Helper()
	state := filepath.Join(dir, stateDir)
	writeInputs(t, state)
	writeTokens(t, filepath.Join(dir, tokensDir), state)
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
	flowtest.NoError(t, joinstate.SaveRepairs(state, Fill[[]joinstate.Repair](t)))
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
	encodedPublic, err := x509.MarshalPKIXPublicKey(key.Public())
	flowtest.NoError(t, err)
	encode := func(kind enrollment.Kind, more map[string]any) []byte {
		document := map[string]any{
			"apiVersion": report.APIVersion,
			"kind":       kind,
			"id":         strings.Repeat("0123456789abcdef", 2),
			"nodeName":   "worker-7",
			"expires":    "2026-01-02T03:04:05Z",
			"clusterCA":  []string{"SHA256:" + strings.Repeat("0123456789abcdef", 4)},
		}
		for name, value := range more {
			document[name] = value
		}
		content, err := json.Marshal(document)
		flowtest.NoError(t, err)
		return content
	}
	token, err := enrollment.ParseToken(encode(enrollment.KindToken, map[string]any{
		"labels":     []string{"rack=r1"},
		"taints":     []string{"dedicated=gpu:NoSchedule"},
		"userData":   "{}",
		"privateKey": string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})),
	}))
	flowtest.NoError(t, err)
	public, err := enrollment.ParseEnrollment(encode(enrollment.KindEnrollment, map[string]any{
		"addresses": []string{"192.0.2.1"},
		"publicKey": string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: encodedPublic})),
	}))
	flowtest.NoError(t, err)
	_, _, err = enrollment.Write(dir, token, public)
	flowtest.NoError(t, err)
	flowtest.NoError(t, inputs.SaveJoinToken(state, token))
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
			ledger.Unit:            recorded(state),
			ledger.Sysctl:          recorded(state),
			ledger.FirewallPorts:   data(`{"runtime":["22/tcp"],"permanent":["22/tcp"]}`),
			ledger.KernelArguments: recorded{Present: true},
			migrate.Kind:           data(`{"unfinished":true,"backup":` + encode(t, Fill[ovs.Backup](t)) + `}`),
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
	ports := ledger.Change{Kind: ledger.FirewallPorts, Target: "zone public"}
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

// readDocuments reads the documents of a release with the functions that the commands use, and returns their values. It
// fails for a file that it does not read.
func readDocuments(t *testing.T, release string) map[string]any {
	t.Helper()
	dir := t.TempDir() // readers may write
	flowtest.NoError(t, os.CopyFS(dir, os.DirFS(release)))
	state := filepath.Join(dir, stateDir)
	tree, err := hostfs.OpenTree("/")
	flowtest.NoError(t, err)
	defer tree.Close()
	read := map[string]any{}
	for _, name := range listFiles(t, release) {
		value, err := readDocument(t, tree, dir, state, name)
		if err != nil || value == nil {
			t.Errorf("%s: %v, %v", name, value, err)
		}
		read[name] = value
	}
	return read
}

func readDocument(t *testing.T, tree *hostfs.Tree, dir, state, name string) (any, error) {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(dir, name))
	flowtest.NoError(t, err)
	switch base := filepath.Base(name); base {
	case joinstate.StateFile:
		return joinstate.Read(state)
	case joinstate.NextFile, joinstate.ReplacedFile, joinstate.PreviousFile:
		return joinstate.LoadGeneration(state, base)
	case joinstate.OverridesFile:
		return joinstate.LoadOverrides(state)
	case joinstate.SoftwareFile:
		return joinstate.LoadSoftware(state)
	case joinstate.MaintenanceFile:
		return joinstate.ReadMaintenance(state)
	case joinstate.RepairsFile:
		return joinstate.LoadRepairs(state)
	case joinstate.PurgeFile:
		transaction, _, err := joinstate.LoadPurge(state)
		return transaction, err
	case joinstate.BridgeRecordFile:
		return ovs.DecodeRecord(content)
	case migrationFile:
		uplink, unfinished, err := migrate.UnfinishedMigration(tree, state)
		if !unfinished {
			t.Error("there is no unfinished migration")
		}
		return uplink, err
	case joinstate.UserDataFile:
		userData, err := ignition.ParseUserData(content)
		if err != nil {
			return nil, err
		}
		return userData.NodePool(), nil
	case joinstate.PayloadFile:
		payload, err := ignition.LoadPayload(content)
		if err != nil {
			return nil, err
		}
		return payload.Digest, nil
	case joinstate.JoinTokenFile, "worker-7.token":
		token, err := enrollment.ParseToken(content)
		if err != nil {
			return nil, err
		}
		return token.Summarize(time.Time{}), nil
	case "worker-7.enrollment":
		public, err := enrollment.ParseEnrollment(content)
		if err != nil {
			return nil, err
		}
		return public.Terms, nil
	case ledgerFile:
		return readLedger(t, state)
	default:
		if filepath.Base(filepath.Dir(name)) != originalsDir {
			t.Errorf("no function reads %s", name)
		}
		return string(bytes.TrimSpace(content)), nil
	}
}

// readLedger returns the items of a ledger that the drivers of this host can restore.
func readLedger(t *testing.T, dir string) (any, error) {
	t.Helper()
	tree, err := hostfs.OpenTree(t.TempDir())
	flowtest.NoError(t, err)
	defer tree.Close()
	book, err := ledger.Open(dir, kinds.Drivers(&kinds.Host{
		Tree:    tree,
		Bridge:  &migrate.Driver{},
		Configs: &resource.LoadedConfigs{},
		Shared:  &resource.SharedDirSnapshot{},
	}))
	if err != nil {
		return nil, err
	}
	defer book.Close()
	var targets []string
	for _, item := range book.Items() {
		targets = append(targets, item.Key()+" "+item.Before.String())
	}
	return targets, nil
}
