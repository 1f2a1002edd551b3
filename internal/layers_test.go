// SPDX-License-Identifier: Apache-2.0

// Package internal_test checks which packages import each other.
package internal_test

import (
	"errors"
	"fmt"
	"go/build"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const module = "github.com/hcp-node-agent/hcp-node-agent/"

// layers lists the packages of cmd and internal, the highest layer first. A package may import only packages of lower
// layers. NAME/... stands for a package and its sub-packages, which may import each other.
var layers = []layer{
	{"commands", "cmd/node-admin cmd/node-agent"},
	{"flows that run other flows", "admin/install service"},
	{"a flow with the steps of a join", "upgrade"},
	{"flows", "admin/controller admin/enroll admin/publisher bootstrap cli doctor image leave maintenance " +
		"preview status"},
	{"the clusters of an administrator's command", "admin/connect"},
	{"software of a join and an upgrade", "provision"},
	{"plan", "plan"},
	{"parts of several flows", "admin/fleet admin/metrics admin/nodepool autojoin nodecheck payload"},
	{"request of a command, and the opened host; CSRs for an administrator", "machine request admin/approve"},
	{"state of a join, kinds of changes", "joinstate kinds"},
	{"domains", "admin/cluster admin/csrcache admin/lostnodes admin/registry admin/remediation admin/rollout " +
		"admin/site crio identity ignition/... kubelet logins networkplugin node/... nodeip othercluster ovs/... preflight " +
		"software/..."},
	{"kinds of resources; rules for CSRs", "ledger/resource approver"},
	{"effects", "effects"},
	{"ledger, configuration, cluster", "config enrollment kube ledger rhcos"},
	{"steps and requests", "steps transport"},
	{"ports of a node", "nodeports"},
	{"host", "host/..."},
	{"report", "report"},
	{"classes of hosts", "hostclass"},
	{"base", "api/... redact schema wait wrap"},
	{"functions for slices; durations of the parts of a command", "lists trace"},
}

// exceptions lists the imports that layers does not permit.
var exceptions = []exception{
	{"ovs/...", "nodeip", "br-ex gets the addresses that nodeip selects, and a boot unit restores the files of nodeip"},
}

// restrictions lists packages that others must not import although they are in a lower layer.
var restrictions = []restriction{
	{from: "cmd/node-agent", not: "host/... ledger/...", reason: "commands call flows, which change the host"},
	{from: "cmd/node-agent", not: "admin/...", indirect: true, reason: "the client of the agent is package kube"},
	{
		from: "cmd/node-admin", not: "host/... ledger/... ovs/... crio", indirect: true,
		reason: "hcp-node-admin runs on no node",
	},
}

type (
	layer struct {
		name     string
		packages string // separated by blanks
	}
	exception struct {
		from, to string
		reason   string
	}
	restriction struct {
		from, not string
		indirect  bool // imports of imports as well
		reason    string
	}
)

func TestLayers(t *testing.T) {
	for _, violation := range violations(layers, exceptions, restrictions, readImports(t)) {
		t.Error(violation)
	}
}

func TestViolations(t *testing.T) {
	got := violations(
		[]layer{{"commands", "cmd/a"}, {"domains", "ovs/... kubelet packages"}, {"base", "report"}},
		[]exception{{"kubelet", "ovs/...", "a reason"}, {"packages", "ovs", "another reason"}},
		[]restriction{{from: "cmd/a", not: "report", indirect: true, reason: "a reason"}},
		imports{
			"cmd/a":   {"kubelet"},
			"kubelet": {"ovs/b", "report"},
			"ovs":     {"ovs/b", "kubelet"},
			"ovs/b":   {"report"},
			"report":  {"cmd/a", "test/vm"},
			"new":     {"report"},
		},
	)
	want := []string{
		`layers names packages, which does not exist: remove it`,
		`internal/new is in no layer: add it to layers in internal/layers_test.go, above every package that it imports`,
		`internal/ovs (domains) must not import internal/kubelet (domains): move the common part to a lower layer, ` +
			`pass the value as an argument, or add a line with the reason to exceptions`,
		`internal/report (base) must not import cmd/a (commands): move the common part to a lower layer, ` +
			`pass the value as an argument, or add a line with the reason to exceptions`,
		`internal/report must not import test/vm: only tests import it`,
		`no import needs the exception of packages for ovs: remove it`,
		`cmd/a must not contain internal/report (cmd/a imports kubelet imports report): a reason`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("violations (-want +got):\n%s", diff)
	}
}

// imports maps each package to the packages of this module that it imports. Tests are not included. The names are
// relative to internal, or begin with "cmd/".
type imports map[string][]string

// readImports returns the imports of all packages of cmd and internal.
func readImports(t *testing.T) imports {
	t.Helper()
	read := imports{}
	for _, root := range []string{"../cmd", "."} {
		err := filepath.WalkDir(root, func(dir string, entry fs.DirEntry, err error) error {
			if err != nil || !entry.IsDir() {
				return err
			}
			if entry.Name() == "testdata" {
				return fs.SkipDir
			}
			found, err := build.ImportDir(dir, 0)
			if noGo := (*build.NoGoError)(nil); errors.As(err, &noGo) {
				return nil
			}
			if err != nil {
				return fmt.Errorf("reading the imports of %s: %w", dir, err)
			}
			if len(found.GoFiles) > 0 {
				name := strings.TrimPrefix(filepath.ToSlash(dir), "../")
				read[name] = ownPackages(found.Imports)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return read
}

// ownPackages returns the short names of the packages of this module.
func ownPackages(paths []string) []string {
	var names []string
	for _, path := range paths {
		if name, ok := strings.CutPrefix(path, module); ok {
			names = append(names, strings.TrimPrefix(name, "internal/"))
		}
	}
	return names
}

// violations returns a message for each import that the rules do not permit, and for each part of the rules that does
// not match a package or an import.
func violations(order []layer, permitted []exception, restricted []restriction, all imports) []string {
	positions, messages := positionsOf(order, all)
	used := make([]bool, len(permitted))
	for _, from := range slices.Sorted(maps.Keys(all)) {
		high, ok := positions[from]
		if !ok {
			messages = append(messages, fmt.Sprintf("%s is in no layer: add it to layers in internal/layers_test.go, "+
				"above every package that it imports", long(from)))
			continue
		}
		for _, to := range all[from] {
			low, ok := positions[to]
			if ok && (low.layer > high.layer || low.pattern == high.pattern) {
				continue
			}
			i := slices.IndexFunc(permitted, func(e exception) bool { return matches(e.from, from) && matches(e.to, to) })
			switch {
			case i >= 0:
				used[i] = true
			case strings.HasPrefix(to, "test/"):
				messages = append(messages, fmt.Sprintf("%s must not import %s: only tests import it", long(from), to))
			case ok:
				messages = append(messages, fmt.Sprintf("%s (%s) must not import %s (%s): move the common part to a lower "+
					"layer, pass the value as an argument, or add a line with the reason to exceptions",
					long(from), order[high.layer].name, long(to), order[low.layer].name))
			}
		}
	}
	for i, e := range permitted {
		if !used[i] {
			messages = append(messages, fmt.Sprintf("no import needs the exception of %s for %s: remove it", e.from, e.to))
		}
	}
	for _, r := range restricted {
		messages = append(messages, r.violations(all)...)
	}
	return messages
}

// A position is the place of a package in layers: the layer's index, and the name that stands for the package.
type position struct {
	layer   int
	pattern string
}

// positionsOf returns the position of each package, and messages about names in layers without a package.
func positionsOf(order []layer, all imports) (map[string]position, []string) {
	positions := map[string]position{}
	var messages []string
	for i, l := range order {
		for _, pattern := range strings.Fields(l.packages) {
			found := false
			for name := range all {
				// A package's own name takes precedence over that of a parent with sub-packages.
				if matches(pattern, name) && (pattern == name || positions[name].pattern != name) {
					positions[name] = position{layer: i, pattern: pattern}
					found = true
				}
			}
			if !found {
				messages = append(messages, fmt.Sprintf("layers names %s, which does not exist: remove it", pattern))
			}
		}
	}
	return positions, messages
}

// violations returns a message for each package that the restriction excludes.
func (r restriction) violations(all imports) []string {
	var messages []string
	chains := [][]string{{r.from}}
	seen := map[string]bool{}
	for len(chains) > 0 {
		chain := chains[0]
		chains = chains[1:]
		for _, to := range all[chain[len(chain)-1]] {
			if seen[to] {
				continue
			}
			seen[to] = true
			next := append(slices.Clone(chain), to)
			if slices.ContainsFunc(strings.Fields(r.not), func(pattern string) bool { return matches(pattern, to) }) {
				messages = append(messages, fmt.Sprintf("%s must not contain %s (%s): %s",
					long(r.from), long(to), strings.Join(next, " imports "), r.reason))
			} else if r.indirect {
				chains = append(chains, next)
			}
		}
	}
	return messages
}

// matches reports whether a pattern, NAME or NAME/..., stands for a package.
func matches(pattern, name string) bool {
	parent, ok := strings.CutSuffix(pattern, "/...")
	return name == parent || ok && strings.HasPrefix(name, parent+"/")
}

// long returns a package's path in the module.
func long(name string) string {
	if strings.HasPrefix(name, "cmd/") {
		return name
	}
	return "internal/" + name
}
