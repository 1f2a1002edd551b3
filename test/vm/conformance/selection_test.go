// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

const list = `
- testname: Secrets, create from volume
  codename: '[sig-storage] Secrets should be consumable from pods in volume [Conformance]'
- testname: Pods, long name
  codename: '[sig-node] Pods should be
    submitted and removed [Conformance]'
- codename: '[sig-node] Pods should be updated [Conformance]'
- codename: '[sig-network] Proxy version v1 should proxy through a service and a pod [Conformance]'
`

func TestChoose(t *testing.T) {
	names, err := parseList(list)
	if err != nil {
		t.Fatal(err)
	}
	selected, err := parseSelection([]byte(`
groups: ["[sig-node]", "[sig-network]"]
skip: [{reason: no route, tests: [Proxy version]}]
default: [submitted]
`))
	if err != nil {
		t.Fatal(err)
	}
	submitted, updated := "[sig-node] Pods should be submitted and removed [Conformance]",
		"[sig-node] Pods should be updated [Conformance]"
	skipped := map[string][]string{
		"no route": {"[sig-network] Proxy version v1 should proxy through a service and a pod [Conformance]"},
	}
	for all, want := range map[bool]plan{
		false: {run: []string{submitted}, skipped: skipped, rest: []string{updated}},
		true:  {run: []string{submitted, updated}, skipped: skipped},
	} {
		got, err := selected.choose(names, all)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("all %v: got %+v, %v, want %+v", all, got, err, want)
		}
	}
	if got := focus([]string{submitted}); got != `\[sig-node\] Pods should be submitted and removed \[Conformance\]` {
		t.Errorf("focus is %s", got)
	}
}

func TestSelectionIsRefused(t *testing.T) {
	_, err := parseSelection([]byte(`skip: [{tests: [Proxy]}]`))
	if err == nil || !strings.Contains(err.Error(), "without a reason") {
		t.Errorf("without a reason: %v", err)
	}
	_, err = selection{Groups: []string{"[sig-node]"}, Default: []string{"renamed"}}.choose([]string{"[sig-node] test"}, false)
	if err == nil || !strings.Contains(err.Error(), `"renamed"`) {
		t.Errorf("an entry that no test has: %v", err)
	}
}

func TestSelectionFile(t *testing.T) {
	if _, err := parseSelection(selectionFile); err != nil {
		t.Error(err)
	}
}

// TestVersion checks that the tests are those of the Kubernetes version of the control plane and of the machines.
func TestVersion(t *testing.T) {
	version := func(directory string) string {
		content, err := os.ReadFile(filepath.Join(directory, "go.mod"))
		if err != nil {
			t.Fatal(err)
		}
		_, after, _ := strings.Cut(string(content), "k8s.io/kubernetes v")
		found, _, _ := strings.Cut(after, "\n")
		return found
	}
	tests, cluster := version("testdata/e2e"), version("../../controlplane/hyperkube")
	if tests != cluster || tests == "" {
		t.Errorf("the tests are those of Kubernetes %q, the cluster runs %q", tests, cluster)
	}
}
