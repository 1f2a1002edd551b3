// SPDX-License-Identifier: Apache-2.0

package approver

import (
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/hcp-node-agent/hcp-node-agent/internal/kube"
)

func pendingCSR(n int) *kube.CSR {
	return &kube.CSR{ObjectMeta: metav1.ObjectMeta{UID: types.UID(fmt.Sprintf("%036d", n))}}
}

func TestReasonIsReportedOnce(t *testing.T) {
	recorded := 0
	a := &Approver{options: Options{OnEvent: func(Event) { recorded++ }}}
	for _, step := range []struct {
		reason string
		want   int
	}{{"first", 1}, {"first", 1}, {"", 1}, {"second", 2}, {"first", 3}} {
		if a.emitDecision(pendingCSR(1), Decision{Outcome: Ignored, Reason: step.reason}); recorded != step.want {
			t.Errorf("after %q: told %d times, want %d", step.reason, recorded, step.want)
		}
	}
	a.reported.forget(pendingCSR(1).UID)
	if a.emitDecision(pendingCSR(1), Decision{Outcome: Ignored, Reason: "first"}); recorded != 4 {
		t.Errorf("after it was forgotten: told %d times", recorded)
	}
}

// The number of stored reasons is limited. The number of the remaining CSRs is reported once,
// until entries are free again.
func TestReportedReasonsAreLimited(t *testing.T) {
	recorded := 0
	a := &Approver{options: Options{OnEvent: func(Event) { recorded++ }}}
	sweep := func(from, to int) bool {
		a.reported.beginResync()
		for n := from; n < to; n++ {
			a.reported.keep(pendingCSR(n).UID)
			a.emitDecision(pendingCSR(n), Decision{Outcome: Ignored, Reason: "no enrollment"})
		}
		return a.reported.endResync()
	}
	const all = 2*maxReportedCSRs + 500
	for _, want := range []bool{true, false} {
		news := sweep(0, all)
		if recorded != maxReportedCSRs || len(a.reported.entries) != maxReportedCSRs || a.reported.pendingCount() != all ||
			news != want {
			t.Errorf("told %d, kept %d, %d wait, news %t", recorded, len(a.reported.entries), a.reported.pendingCount(), news)
		}
	}
	recorded = 0
	sweep(maxReportedCSRs-10, maxReportedCSRs+10) // deletes the other CSRs and their entries
	if recorded != 0 || len(a.reported.entries) != 10 {
		t.Errorf("told %d, kept %d", recorded, len(a.reported.entries))
	}
	if news := sweep(maxReportedCSRs-10, maxReportedCSRs+10); news || recorded != 10 || a.reported.pendingCount() != 20 {
		t.Errorf("with room again: told %d, %d wait, news %t", recorded, a.reported.pendingCount(), news)
	}
}
