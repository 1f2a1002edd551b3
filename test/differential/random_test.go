// SPDX-License-Identifier: Apache-2.0

//go:build differential

package differential

import (
	"fmt"
	"math/rand/v2"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/coreos/ignition/v2/config/v3_6/types"
)

// Sufficient to detect a change that breaks a rule. FuzzDifferential tests more.
const randomCases = 600

// TestRandom compares random configs, which are the same in each run.
func TestRandom(t *testing.T) {
	applied, failed := 0, 0
	for seed := range uint64(randomCases) {
		bytes := decisions(seed)
		t.Run(fmt.Sprintf("seed-%d", seed), func(t *testing.T) {
			if compareRandom(t, bytes) {
				applied++
			} else {
				failed++
			}
		})
	}
	// Otherwise the generator rarely produces a relevant case.
	if applied < randomCases/8 || failed < randomCases/20 {
		t.Errorf("of %d configs %d were applied and %d refused", randomCases, applied, failed)
	}
}

func decisions(seed uint64) []byte {
	random := rand.New(rand.NewPCG(seed, 0)) //nolint:gosec // the same each time
	bytes := make([]byte, 250)
	for i := range bytes {
		bytes[i] = byte(random.Uint32())
	}
	return bytes
}

// FuzzDifferential searches for a config with different results.
func FuzzDifferential(f *testing.F) {
	for seed := range uint64(8) {
		f.Add(decisions(seed + 1_000_000))
	}
	f.Fuzz(func(t *testing.T, bytes []byte) {
		compareRandom(t, bytes)
	})
}

// compareRandom compares a random scenario and reports whether the config was applied.
func compareRandom(t testing.TB, bytes []byte) bool {
	t.Helper()
	g := generate(bytes)
	s := g.scenario(t)
	got, ourErr := agentTree(t, s)
	wanted, theirErr := ignitionResult(t, s)
	for theirErr != nil && ourErr == nil {
		// The agent may only succeed where Ignition fails if the file is already in the desired
		// state.
		index := satisfiedFile(t, g, theirErr)
		if index < 0 {
			break
		}
		g.config.Storage.Files = slices.Delete(slices.Clone(g.config.Storage.Files), index, index+1)
		wanted, theirErr = ignitionResult(t, g.scenario(t))
	}
	describe := func() string {
		return fmt.Sprintf("decisions: %x\nconfig: %s\ntree: %s\nagent: %v\nIgnition: %v", bytes, s.config,
			strings.Join(describeTree(s.tree), "\n      "), ourErr, theirErr)
	}
	switch {
	case ourErr != nil && strings.Contains(ourErr.Error(), "is not followed"): // see differsUserLinks
	case ourErr != nil && strings.Contains(ourErr.Error(), "exists, and the agent does not"): // see differsExisting
	case theirErr != nil && ourErr != nil:
	case theirErr != nil || ourErr != nil:
		t.Error("only one of the two fails")
	default:
		if diff := diffListings(wanted, got); diff != "" {
			t.Errorf("(-Ignition +agent):\n%s", diff)
		}
	}
	if t.Failed() {
		t.Log(describe())
	}
	return ourErr == nil
}

var existingFileError = regexp.MustCompile(
	`error creating file "([^"]+)": A file exists there already and overwrite is false`,
)

// satisfiedFile returns the index of the config's file at which Ignition failed, if the file is
// already in the desired state, or else -1.
func satisfiedFile(t testing.TB, g randomCase, err error) int {
	t.Helper()
	found := existingFileError.FindStringSubmatch(err.Error())
	if found == nil {
		return -1
	}
	before := listTree(t, newTree(t, scenario{tree: g.tree}))
	return slices.IndexFunc(g.config.Storage.Files, func(f types.File) bool {
		real := resolveLink(g.tree, f.Path)
		return strings.HasSuffix(found[1], real) && before[real] != "" &&
			matchesFile(before[real], f, g.config.Ignition.Version)
	})
}

// resolveLink resolves one link in the parents of a path.
func resolveLink(tree []Node, name string) string {
	for _, node := range tree {
		if rest, below := strings.CutPrefix(name, node.Path+"/"); node.Link != "" && below {
			target := node.Link
			if !path.IsAbs(target) {
				target = path.Join(path.Dir(node.Path), target)
			}
			return path.Join(target, rest)
		}
	}
	return name
}

// matchesFile reports whether a line of a listing matches the desired state of the file.
func matchesFile(line string, f types.File, version string) bool {
	content, known := map[string]string{
		"data:,new": "new", "data:,old%0A": "old\n", "data:,": "", "": "", "data:;base64,bmV3": "new",
		data(string(gzipped("expanded\n"))): "expanded\n",
	}[*f.Contents.Source]
	fields := strings.Fields(line)
	if !known || len(f.Append) > 0 || !strings.Contains(line, fmt.Sprintf("%q", content)) {
		return false
	}
	uid, gid, _ := strings.Cut(fields[2], ":")
	if f.Mode != nil {
		mode := *f.Mode
		if version != "3.6.0" {
			mode &= 0o777
		}
		if fields[1] != fmt.Sprintf("%04o", mode) {
			return false
		}
	}
	return matchesID(uid, f.User.ID, f.User.Name) && matchesID(gid, f.Group.ID, f.Group.Name)
}

// matchesID reports whether a numeric ID matches the owner of an entry, if one is specified.
func matchesID(number string, id *int, name *string) bool {
	switch {
	case id != nil:
		return number == strconv.Itoa(*id)
	case name != nil && *name != "":
		return number == map[string]string{"core": "1000", "wheel": "10", "staff": "50"}[*name]
	}
	return true
}
