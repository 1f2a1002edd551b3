package approver

import (
	"hash/maphash"

	"k8s.io/apimachinery/pkg/types"
)

// maxRemembered bounds the CSRs whose last reason is remembered. Whoever has a
// bootstrap kubeconfig can submit any number of CSRs, which wait for a day.
const maxRemembered = 10_000

// memory remembers what was last reported of each waiting CSR, so that the same is
// not reported again. An entry has a fixed size; the zero value is empty.
type memory struct {
	seed    maphash.Seed
	entries map[types.UID]remembered
	sweep   uint64 // the current one
	omitted int    // CSRs that were not reported since the last sweep began, for want of room
	full    bool   // that there is no room was reported, and there still is none
}

type remembered struct {
	reason, sweep uint64
}

// add remembers the reason for a CSR and reports whether it is to be told: it is
// another one than before, and there is room.
func (m *memory) add(uid types.UID, reason string) bool {
	if m.entries == nil {
		m.seed, m.entries = maphash.MakeSeed(), map[types.UID]remembered{}
	}
	entry := remembered{reason: maphash.String(m.seed, reason), sweep: m.sweep}
	last, known := m.entries[uid]
	switch {
	case known && last.reason == entry.reason:
		return false
	case !known && len(m.entries) >= maxRemembered:
		m.omitted++
		return false
	}
	m.entries[uid] = entry
	return true
}

func (m *memory) forget(uid types.UID) { delete(m.entries, uid) }

// begin begins a sweep, which lists all CSRs.
func (m *memory) begin() {
	m.sweep++
	m.omitted = 0
}

// listed keeps a CSR that the sweep has found.
func (m *memory) listed(uid types.UID) {
	if entry, known := m.entries[uid]; known {
		entry.sweep = m.sweep
		m.entries[uid] = entry
	}
}

// end forgets the CSRs that the sweep has not found, and reports whether it is
// news that there is no room for all.
func (m *memory) end() bool {
	for uid, entry := range m.entries {
		if entry.sweep != m.sweep {
			delete(m.entries, uid)
		}
	}
	news := m.omitted > 0 && !m.full
	m.full = m.omitted > 0
	return news
}

// waiting returns how many CSRs wait, as of the last sweep.
func (m *memory) waiting() int { return len(m.entries) + m.omitted }
