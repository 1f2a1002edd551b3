// SPDX-License-Identifier: Apache-2.0

package compatibility

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"net/netip"
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
	"github.com/hcp-node-agent/hcp-node-agent/internal/joinstate"
	"github.com/hcp-node-agent/hcp-node-agent/internal/kinds"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ledger/resource"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ovs"
	"github.com/hcp-node-agent/hcp-node-agent/internal/ovs/migrate"
	"github.com/hcp-node-agent/hcp-node-agent/test/flowtest"
)

// The directories of a release.
const (
	stateDir = "state" // the agent's state directory
	adminDir = "admin" // what hcp-node-admin enroll writes
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
		t.Skip("with -update, the documents of this release are being written by TestFormatsAreThoseOfTheNewestRelease")
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
		flowtest.NoError(t, os.RemoveAll(filepath.Join(written, adminDir)))
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
		cmpopts.EquateComparable(netip.Prefix{})); diff != "" {
		t.Errorf("documents of %s (-written +released):\n%s", released, diff)
	}
}

// listFiles returns the files of stateDir and adminDir of a release.
func listFiles(t *testing.T, release string) []string {
	t.Helper()
	var names []string
	for _, dir := range []string{stateDir, adminDir} {
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
	case joinstate.AdoptionFile:
		return joinstate.LoadAdoption(state)
	case joinstate.ImageFile:
		return joinstate.LoadImages(state)
	case joinstate.AttemptFile:
		return joinstate.LoadAttempt(state)
	case joinstate.RepairsFile:
		return joinstate.LoadRepairs(state)
	case joinstate.PublishedCAsFile:
		return joinstate.LoadPublishedCAs(state)
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
	case "worker-7.yaml":
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
