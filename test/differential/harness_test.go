// SPDX-License-Identifier: Apache-2.0

//go:build differential

package differential

import (
	"context"
	"fmt"
	"io"
	"log"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/hcp-node-agent/hcp-node-agent/internal/image"
)

// Shared state of the tests, which TestMain initializes.
var (
	oracle  Oracle
	servers *testServers // servers that configs refer to
	scratch string       // a temporary directory
)

func TestMain(m *testing.M) {
	log.SetOutput(io.Discard) // the TLS handshake failures are expected
	os.Exit(run(m))
}

func run(m *testing.M) int {
	if os.Geteuid() != 0 {
		fmt.Fprintln(os.Stderr, "differential: these tests set owners and need root: run them with sudo")
		return 1
	}
	var err error
	if scratch, err = os.MkdirTemp("", "differential-"); err == nil {
		defer func() { _ = os.RemoveAll(scratch) }() // a temporary directory
		oracle, err = BuildOracle(context.Background())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "differential:", err)
		return 1
	}
	servers = newTestServers()
	defer servers.close()
	return m.Run()
}

// agent builds the agent's binary once and returns its path.
var agent = sync.OnceValues(func() (string, error) {
	path := filepath.Join(scratch, "hcp-node-agent")
	build := exec.Command("go", "build", "-o", path, "../../cmd/node-agent")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if output, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("building the agent: %w\n%s", err, output)
	}
	return path, nil
})

// scenario is a config for a tree, and the expected differences between the two results.
type scenario struct {
	name      string
	tree      []Node // in addition to the plain tree
	config    string
	firstBoot bool   // compare with a first boot instead of ignition-apply
	bothFail  string // both fail; the agent's error contains this text

	// The deliberate difference; differences_test.go has its reason.
	difference     difference
	ignitionConfig string // the config for Ignition that has the same result
	ignitionTree   []Node // the tree for Ignition
	agentFails     string // only the agent fails; its error contains this text
}

// ignoredPaths returns paths that only one of the two creates without an entry in the config.
func ignoredPaths() []string {
	paths := []string{"/etc/.ignition-result.json", "/etc/.pwd.lock"}
	for _, name := range []string{"passwd", "group", "shadow", "gshadow", "subuid", "subgid"} {
		paths = append(paths, "/etc/"+name+"-")
	}
	return paths
}

// newTree returns the root of a new copy of the scenario's tree.
func newTree(t testing.TB, s scenario) string {
	t.Helper()
	root := t.TempDir()
	for _, dir := range []string{filepath.Dir(root), root} { // a user's keys are written as that user
		if err := os.Chmod(dir, 0o755); err != nil { //nolint:gosec // nothing in it is secret
			t.Fatal(err)
		}
	}
	if err := CreateTree(root, append(plainTree(), s.tree...)); err != nil {
		t.Fatal(err)
	}
	return root
}

func listTree(t testing.TB, root string) map[string]string {
	t.Helper()
	lines, err := Listing(root, ignoredPaths()...)
	if err != nil {
		t.Fatal(err)
	}
	return lines
}

func writeConfig(t testing.TB, config string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "config.ign")
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// ignitionResult returns the tree after a run of Ignition.
func ignitionResult(t testing.TB, s scenario) (map[string]string, error) {
	t.Helper()
	text := s.config
	if s.ignitionConfig != "" {
		text = s.ignitionConfig
	}
	if s.ignitionTree != nil {
		s.tree = s.ignitionTree
	}
	root, config := newTree(t, s), writeConfig(t, servers.replacePlaceholders(text, "real"))
	var err error
	if s.firstBoot {
		err = oracle.Boot(t.Context(), config, root, t.TempDir())
	} else {
		err = oracle.Apply(t.Context(), config, root)
	}
	return listTree(t, root), err
}

// agentTree returns the tree after a run of the agent. It also checks that a failed run changes
// nothing, and that a second run changes nothing.
func agentTree(t testing.TB, s scenario) (map[string]string, error) {
	t.Helper()
	root := newTree(t, s)
	text := servers.replacePlaceholders(s.config, "ours")
	before := listTree(t, root)
	_, err := agentApply(t, text, root)
	after := listTree(t, root)
	if err != nil {
		if diff := diffListings(before, after); diff != "" {
			t.Errorf("the agent fails (%v) and has changed the tree (-before +after):\n%s", err, diff)
		}
		return after, err
	}
	if isLinkMoved(s, before, after) {
		return after, nil
	}
	first, stampErr := ListingWithTimes(root, ignoredPaths()...)
	if stampErr != nil {
		t.Fatal(stampErr)
	}
	document, err := agentApply(t, text, root)
	second, stampErr := ListingWithTimes(root, ignoredPaths()...)
	if stampErr != nil {
		t.Fatal(stampErr)
	}
	if err != nil || document.Changes != 0 {
		t.Errorf("a second run of the agent: %d changes, %v", document.Changes, err)
	}
	if diff := diffListings(first, second); diff != "" {
		t.Errorf("a second run of the agent changes the tree (-first +second):\n%s", diff)
	}
	return after, nil
}

// isLinkMoved reports whether the config has replaced a link in one of its own paths: see
// differsMovedLink.
func isLinkMoved(s scenario, before, after map[string]string) bool {
	return slices.ContainsFunc(s.tree, func(n Node) bool {
		return n.Link != "" && before[n.Path] != after[n.Path] && strings.Contains(s.config, "/"+path.Base(n.Path)+"/")
	})
}

// agentApply runs the agent's apply in this process.
func agentApply(t testing.TB, config, root string) (image.Document, error) {
	t.Helper()
	return image.Apply(t.Context(), image.Options{Payload: "-", Stdin: strings.NewReader(config), Root: root})
}

// compare compares the results of both.
func compare(t testing.TB, s scenario) {
	t.Helper()
	wanted, theirErr := ignitionResult(t, s)
	got, ourErr := agentTree(t, s)
	switch {
	case s.agentFails != "":
		if theirErr != nil || ourErr == nil || !strings.Contains(ourErr.Error(), s.agentFails) {
			t.Errorf("the agent alone refuses this (%s): agent %v; Ignition %v", s.difference, ourErr, theirErr)
		}
	case s.bothFail != "":
		if theirErr == nil || ourErr == nil || !strings.Contains(ourErr.Error(), s.bothFail) {
			t.Errorf("both refuse this with %q: agent %v; Ignition %v", s.bothFail, ourErr, theirErr)
		}
	case theirErr != nil || ourErr != nil:
		t.Errorf("agent: %v\nIgnition: %v\nconfig: %s", ourErr, theirErr, s.config)
	default:
		if diff := diffListings(wanted, got); diff != "" {
			t.Errorf("(-Ignition +agent):\n%s\nconfig: %s\ntree: %s", diff, s.config,
				strings.Join(describeTree(s.tree), "\n      "))
		}
	}
}

// diffListings returns the lines in which two listings differ, or "".
func diffListings(before, after map[string]string) string {
	var lines []string
	for _, name := range slices.Sorted(maps.Keys(before)) {
		if line, there := after[name]; line != before[name] || !there {
			lines = append(lines, "- "+name+" "+before[name])
		}
	}
	for _, name := range slices.Sorted(maps.Keys(after)) {
		if line, there := before[name]; line != after[name] || !there {
			lines = append(lines, "+ "+name+" "+after[name])
		}
	}
	return strings.Join(lines, "\n")
}

// describeTree describes a tree for failure messages.
func describeTree(nodes []Node) []string {
	var lines []string
	for _, n := range nodes {
		lines = append(lines, fmt.Sprintf("%+v", n))
	}
	return lines
}

// runAll compares scenarios, whose names must be unique.
func runAll(t *testing.T, scenarios []scenario) {
	t.Helper()
	known := map[string]bool{}
	for _, s := range scenarios {
		if known[s.name] {
			t.Errorf("two scenarios are called %q", s.name)
		}
		known[s.name] = true
		if (s.ignitionConfig != "" || s.ignitionTree != nil || s.agentFails != "") != (s.difference != "") ||
			s.difference != "" && reasons[s.difference] == "" {
			t.Errorf("%s: a difference needs its reason, and a reason its difference", s.name)
		}
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			compare(t, s)
		})
	}
}
