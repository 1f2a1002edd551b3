package approver

import (
	"fmt"
	"testing"

	certificatesv1 "k8s.io/api/certificates/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

func waitingCSR(n int) *certificatesv1.CertificateSigningRequest {
	return &certificatesv1.CertificateSigningRequest{ObjectMeta: metav1.ObjectMeta{UID: types.UID(fmt.Sprintf("%036d", n))}}
}

func TestReasonIsReportedOnce(t *testing.T) {
	told := 0
	a := &Approver{options: Options{Tell: func(Told) { told++ }}}
	for _, step := range []struct {
		reason string
		want   int
	}{{"first", 1}, {"first", 1}, {"", 1}, {"second", 2}, {"first", 3}} {
		if a.tellOf(waitingCSR(1), Decision{Verdict: Leave, Reason: step.reason}); told != step.want {
			t.Errorf("after %q: told %d times, want %d", step.reason, told, step.want)
		}
	}
	a.told.forget(waitingCSR(1).UID)
	if a.tellOf(waitingCSR(1), Decision{Verdict: Leave, Reason: "first"}); told != 4 {
		t.Errorf("after it was forgotten: told %d times", told)
	}
}

// The number of stored reasons is limited. The number of the remaining CSRs is reported once,
// until entries are free again.
func TestMemoryOfWaitingCSRsIsBounded(t *testing.T) {
	told := 0
	a := &Approver{options: Options{Tell: func(Told) { told++ }}}
	sweep := func(from, to int) bool {
		a.told.begin()
		for n := from; n < to; n++ {
			a.told.listed(waitingCSR(n).UID)
			a.tellOf(waitingCSR(n), Decision{Verdict: Leave, Reason: "no claim"})
		}
		return a.told.end()
	}
	const all = 2*maxRemembered + 500
	for _, want := range []bool{true, false} {
		news := sweep(0, all)
		if told != maxRemembered || len(a.told.entries) != maxRemembered || a.told.waiting() != all || news != want {
			t.Errorf("told %d, kept %d, %d wait, news %t", told, len(a.told.entries), a.told.waiting(), news)
		}
	}
	told = 0
	sweep(maxRemembered-10, maxRemembered+10) // deletes the other CSRs and their entries
	if told != 0 || len(a.told.entries) != 10 {
		t.Errorf("told %d, kept %d", told, len(a.told.entries))
	}
	if news := sweep(maxRemembered-10, maxRemembered+10); news || told != 10 || a.told.waiting() != 20 {
		t.Errorf("with room again: told %d, %d wait, news %t", told, a.told.waiting(), news)
	}
}
