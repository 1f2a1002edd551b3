// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"fmt"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/util/sets"
)

func TestWaitingCSRs(t *testing.T) {
	w := newWaitingCSRs()
	check := func(node string, want ...string) {
		t.Helper()
		if got := w.of(node); !slices.Equal(slices.Sorted(slices.Values(got)), want) {
			t.Errorf("%q wait for %s, want %q", got, node, want)
		}
	}
	check("a")
	if !w.add("one", "first", sets.New("a", "b")) || !w.add("two", "first", sets.New("a")) {
		t.Error("a new CSR is not reported")
	}
	check("a", "one", "two")
	check("b", "one")
	if w.add("one", "first", sets.New("a", "b")) {
		t.Error("the same reason is reported again")
	}
	if !w.add("one", "second", sets.New("c")) {
		t.Error("another reason is not reported")
	}
	check("a", "two")
	check("b")
	check("c", "one")
	if w.add("none", "first", nil) || w.has("none") {
		t.Error("a CSR that waits for no node is remembered")
	}
	w.remove("one")
	w.remove("one")
	check("c")
	if w.has("one") || !w.has("two") || len(w.byCSR) != 1 || len(w.byNode) != 1 {
		t.Errorf("left are %v and %v", w.byCSR, w.byNode)
	}
}

func TestWaitingCSRsOfOneNodeAreLimited(t *testing.T) {
	w := newWaitingCSRs()
	for n := range maxWaitingCSRsPerNode {
		if !w.add(fmt.Sprint(n), "reason", sets.New("flooded")) {
			t.Fatalf("CSR %d is not remembered", n)
		}
	}
	if w.add("more", "reason", sets.New("flooded")) || w.has("more") {
		t.Error("one more CSR is remembered")
	}
	if !w.add("both", "reason", sets.New("flooded", "other")) || len(w.of("flooded")) != maxWaitingCSRsPerNode {
		t.Errorf("%d CSRs wait", len(w.of("flooded")))
	}
	if got := w.of("other"); !slices.Equal(got, []string{"both"}) {
		t.Errorf("%q wait for the other node", got)
	}
	if !w.add("0", "another reason", sets.New("flooded")) {
		t.Error("another reason of a remembered CSR is not reported")
	}
	w.remove("0")
	if !w.add("more", "reason", sets.New("flooded")) {
		t.Error("no CSR is remembered in the place of a removed one")
	}
}

func TestAllWaitingCSRsAreLimited(t *testing.T) {
	w := newWaitingCSRs()
	name := func(n int) string { return fmt.Sprintf("csr-%d", n) }
	nodeOf := func(n int) sets.Set[string] { return sets.New(fmt.Sprintf("node-%d", n)) }
	for n := range maxWaitingCSRs {
		w.add(name(n), "reason", nodeOf(n))
	}
	if w.add("more", "reason", sets.New("more")) || len(w.byCSR) != maxWaitingCSRs || len(w.byNode) != maxWaitingCSRs {
		t.Errorf("%d CSRs wait for %d nodes", len(w.byCSR), len(w.byNode))
	}
	if w.add(name(0), "reason", nodeOf(0)) || !w.add(name(0), "another", nodeOf(0)) {
		t.Error("a remembered CSR is treated as a new one")
	}
	for n := range maxWaitingCSRs {
		w.remove(name(n))
	}
	if len(w.byCSR)+len(w.byNode) != 0 {
		t.Errorf("left are %d CSRs and %d nodes", len(w.byCSR), len(w.byNode))
	}
}
