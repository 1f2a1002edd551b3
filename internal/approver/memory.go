package approver

import (
	"hash/maphash"

	"k8s.io/apimachinery/pkg/types"
)

// maxRemembered limits the number of CSRs whose last reason is stored. Any user of a bootstrap
// kubeconfig can submit any number of CSRs, which stay pending for a day.
const maxRemembered = 10_000

// memory stores the last reported reason of each pending CSR, so that it is reported only once.
// An entry has a fixed size. The zero value is empty.
type memory struct {
	seed    maphash.Seed
	entries map[types.UID]remembered
	sweep   uint64 // number of the current resync
	omitted int    // pending CSRs without an entry since the last resync began, because the limit is reached
	full    bool   // the limit is still reached, and this was reported
}

type remembered struct {
	reason, sweep uint64
}

// add stores the reason for a CSR. It reports whether the reason must be reported: it is new, and
// the limit is not reached.
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

// begin starts a resync, which lists all CSRs.
func (m *memory) begin() {
	m.sweep++
	m.omitted = 0
}

// listed keeps the entry of a CSR that the resync has listed.
func (m *memory) listed(uid types.UID) {
	if entry, known := m.entries[uid]; known {
		entry.sweep = m.sweep
		m.entries[uid] = entry
	}
}

// end deletes the entries of CSRs that the resync has not listed. It reports whether the limit is
// newly exceeded.
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

// waiting returns the number of pending CSRs as of the last resync.
func (m *memory) waiting() int { return len(m.entries) + m.omitted }
