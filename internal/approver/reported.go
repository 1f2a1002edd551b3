// SPDX-License-Identifier: Apache-2.0

package approver

import (
	"hash/maphash"

	"k8s.io/apimachinery/pkg/types"
)

// maxReportedCSRs limits the number of CSRs whose last reason is stored. Any user of a bootstrap
// kubeconfig can submit any number of CSRs, which stay pending for a day.
const maxReportedCSRs = 10_000

// reportedReasons stores the last reported reason of each pending CSR, so that it is reported only once.
// An entry has a fixed size. The zero value is empty.
type reportedReasons struct {
	seed             maphash.Seed
	entries          map[types.UID]reportedReason
	resync           uint64 // number of the current resync
	omitted          int    // pending CSRs without an entry since the last resync began, because the limit is reached
	overflowReported bool   // the limit is still reached, and this was reported
}

type reportedReason struct {
	reason, resync uint64
}

// add stores the reason for a CSR. It reports whether the reason must be reported: it is new, and
// the limit is not reached.
func (r *reportedReasons) add(uid types.UID, reason string) bool {
	if r.entries == nil {
		r.seed, r.entries = maphash.MakeSeed(), map[types.UID]reportedReason{}
	}
	entry := reportedReason{reason: maphash.String(r.seed, reason), resync: r.resync}
	last, known := r.entries[uid]
	switch {
	case known && last.reason == entry.reason:
		return false
	case !known && len(r.entries) >= maxReportedCSRs:
		r.omitted++
		return false
	}
	r.entries[uid] = entry
	return true
}

func (r *reportedReasons) forget(uid types.UID) { delete(r.entries, uid) }

// beginResync starts a resync, which lists all CSRs.
func (r *reportedReasons) beginResync() {
	r.resync++
	r.omitted = 0
}

// keep keeps the entry of a CSR that the resync has listed.
func (r *reportedReasons) keep(uid types.UID) {
	if entry, known := r.entries[uid]; known {
		entry.resync = r.resync
		r.entries[uid] = entry
	}
}

// endResync deletes the entries of CSRs that the resync has not listed. It reports whether the limit is
// newly exceeded.
func (r *reportedReasons) endResync() bool {
	for uid, entry := range r.entries {
		if entry.resync != r.resync {
			delete(r.entries, uid)
		}
	}
	news := r.omitted > 0 && !r.overflowReported
	r.overflowReported = r.omitted > 0
	return news
}

// pendingCount returns the number of pending CSRs as of the last resync.
func (r *reportedReasons) pendingCount() int { return len(r.entries) + r.omitted }
