// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"hash/maphash"
	"sync"

	"k8s.io/apimachinery/pkg/util/sets"
)

// Limits of the CSRs that are remembered. Any user of a bootstrap kubeconfig can create any number for any node. A CSR
// beyond them is decided on like all others, but again only when it or its join token's enrollment changes.
const (
	maxWaitingCSRs        = 10_000
	maxWaitingCSRsPerNode = 100
)

// waitingCSRs remembers, by name, the CSRs that were not approved, and the nodes on which the decision depends.
type waitingCSRs struct {
	mutex  sync.Mutex
	seed   maphash.Seed
	byCSR  map[string]waitingCSR
	byNode map[string]sets.Set[string] // names of CSRs
}

// waitingCSR is an entry of waitingCSRs. Its size does not depend on the text of the reason.
type waitingCSR struct {
	nodes  []string
	reason uint64
}

func newWaitingCSRs() *waitingCSRs {
	return &waitingCSRs{seed: maphash.MakeSeed(), byCSR: map[string]waitingCSR{}, byNode: map[string]sets.Set[string]{}}
}

// add remembers that a CSR was not approved for a reason that can change with the nodes. It reports whether the CSR is
// within the limits and its reason is a new one.
func (w *waitingCSRs) add(csr, reason string, nodes sets.Set[string]) bool {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	before, isKnown := w.byCSR[csr]
	if !isKnown && len(w.byCSR) >= maxWaitingCSRs {
		return false
	}
	w.forget(csr)
	entry := waitingCSR{reason: maphash.String(w.seed, reason)}
	for node := range nodes {
		if w.byNode[node].Len() >= maxWaitingCSRsPerNode {
			continue
		}
		if w.byNode[node] == nil {
			w.byNode[node] = sets.New[string]()
		}
		w.byNode[node].Insert(csr)
		entry.nodes = append(entry.nodes, node)
	}
	if len(entry.nodes) == 0 {
		return false
	}
	w.byCSR[csr] = entry
	return !isKnown || before.reason != entry.reason
}

func (w *waitingCSRs) remove(csr string) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	w.forget(csr)
}

// forget removes a CSR. The caller holds the mutex.
func (w *waitingCSRs) forget(csr string) {
	for _, node := range w.byCSR[csr].nodes {
		if w.byNode[node].Delete(csr); w.byNode[node].Len() == 0 {
			delete(w.byNode, node)
		}
	}
	delete(w.byCSR, csr)
}

// has reports whether a CSR is remembered.
func (w *waitingCSRs) has(csr string) bool {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	_, isKnown := w.byCSR[csr]
	return isKnown
}

// of returns the CSRs that wait for a change of a node.
func (w *waitingCSRs) of(node string) []string {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	return w.byNode[node].UnsortedList()
}
