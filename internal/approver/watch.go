package approver

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
)

// Intervals at which a watching approver processes all CSRs again although none has changed. A
// refusal because of a Node, a usage record or an expiry time can become obsolete.
const (
	lookAgain        = 5 * time.Minute
	lookAgainForSome = 30 * time.Second // initial interval while a CSR of an enrolled node is pending; doubled each time
	pollClaims       = 2 * time.Second
)

// Once decides on all existing CSRs and reports their number.
func (a *Approver) Once(ctx context.Context) error {
	a.loadClaims()
	for {
		a.crossed = false
		if _, err := a.sweep(ctx); err != nil {
			return a.explain(err)
		}
		if !a.crossed {
			a.tell(Told{Verdict: Noted, Reason: a.sum()})
			return a.explain(a.tally.err())
		}
	}
}

// Watch decides on all existing and new CSRs until ctx ends, and then returns nil. It retries
// while the API server is unreachable. A permanent error, such as a missing right of the
// credential, ends Watch only before the first successful resync.
func (a *Approver) Watch(ctx context.Context) error {
	trouble, tries, ready := "", 0, false
	for ctx.Err() == nil {
		if a.dir.changed() || !ready {
			a.loadClaims()
		}
		version, err := "", error(nil)
		if !ready {
			err = a.mayNote(ctx)
		}
		if err == nil {
			version, err = a.sweep(ctx)
		}
		if err != nil && ctx.Err() == nil {
			err = a.explain(err)
			if !ready && stays(err) {
				return err
			}
			if trouble != err.Error() {
				trouble = err.Error()
				a.tell(Told{Verdict: Warned, Reason: trouble, Remedy: "# it is tried again, without end"})
				a.status(trouble)
			}
			tries++
			pause(ctx, time.Duration(rand.Float64()*float64(min(15*time.Second, time.Second<<min(tries, 4))))) //nolint:gosec // only spreads the load
			continue
		}
		if trouble != "" {
			a.tell(Told{Verdict: Noted, Reason: "the API server answers again"})
		}
		trouble, tries = "", 0
		if !ready && ctx.Err() == nil {
			ready = true
			if a.options.Ready != nil {
				a.options.Ready()
			}
		}
		a.status(a.sum())
		a.follow(ctx, version)
	}
	return nil
}

// mayNote checks at the start, instead of with the first node, whether the usage records are
// readable.
func (a *Approver) mayNote(ctx context.Context) error {
	ctx, cancel := bounded(ctx)
	defer cancel()
	_, err := a.bindings.read(ctx)
	return err
}

func (a *Approver) sum() string {
	return fmt.Sprintf("%d claims; %d CSRs approved, %d left or refused", a.claims.Len(), a.approved, a.told.waiting())
}

func (a *Approver) status(text string) {
	if a.options.Status != nil {
		a.options.Status(text)
	}
}

// sweep decides on all CSRs, page by page, and returns the resource version to watch from. A
// single CSR that cannot be approved is no error. Only the last reported reason of a pending CSR
// is kept in memory.
func (a *Approver) sweep(ctx context.Context) (string, error) {
	a.unsettled, a.tally = false, tally{}
	a.told.begin()
	version, err := a.eachPage(ctx, metav1.ListOptions{}, func(page []certificatesv1.CertificateSigningRequest) error {
		var batch []*certificatesv1.CertificateSigningRequest
		for n := range page {
			if !answered(&page[n]) {
				batch = append(batch, &page[n])
				a.told.listed(page[n].UID)
			}
		}
		return a.judge(ctx, batch)
	})
	if err != nil {
		return "", err
	}
	if a.told.end() {
		a.tell(Told{
			Verdict: Warned, Remedy: "oc get csr",
			Reason: fmt.Sprintf("%d CSRs wait; only %d of them are reported one by one", a.told.waiting(), maxRemembered),
		})
	}
	return version, a.barred(ctx)
}

// follow decides on changed CSRs until the next resync is due: when the enrollments change, after
// resyncInterval at the latest, and when the watch ends.
func (a *Approver) follow(ctx context.Context, version string) {
	ctx, cancel := context.WithTimeout(ctx, lookAgain)
	defer cancel()
	started, seconds := time.Now(), int64(lookAgain.Seconds())+1
	watcher, err := a.client.CSRs().Watch(ctx, metav1.ListOptions{ResourceVersion: version, TimeoutSeconds: &seconds})
	if err != nil {
		pause(ctx, time.Second) // the next list reports the cause
		return
	}
	defer watcher.Stop()
	claims := time.NewTicker(pollClaims)
	defer claims.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-claims.C:
			if a.dir.changed() {
				return
			}
			if a.unsettled && time.Since(started) > a.patience {
				a.patience = min(2*a.patience, lookAgain)
				return
			}
		case event, open := <-watcher.ResultChan():
			if !open || a.take(ctx, watcher, event) != nil {
				pause(ctx, time.Second) // the next list reports the cause and includes the unprocessed CSRs
				return
			}
		}
	}
}

var errBroken = errors.New("the watch has lost its place")

// take decides on a changed CSR, together with those that follow within a short time. The CSRs of
// many nodes often arrive at once, and one write then records many tokens as used.
func (a *Approver) take(ctx context.Context, watcher watch.Interface, event watch.Event) error {
	window := time.NewTimer(time.Duration(20+rand.IntN(60)) * time.Millisecond) //nolint:gosec // two approvers shall not stay in step; nothing secret
	defer window.Stop()
	batch := map[types.UID]*certificatesv1.CertificateSigningRequest{}
	for {
		csr, isCSR := event.Object.(*certificatesv1.CertificateSigningRequest)
		switch {
		case !isCSR:
			return errBroken
		case event.Type == watch.Deleted, answered(csr):
			delete(batch, csr.UID)
			a.told.forget(csr.UID)
		default:
			batch[csr.UID] = csr
		}
		if len(batch) == 0 || len(batch) == csrsHeld {
			break
		}
		open := false
		select {
		case <-ctx.Done():
			return nil
		case <-window.C:
		case event, open = <-watcher.ResultChan():
		}
		if !open {
			break
		}
	}
	list := make([]*certificatesv1.CertificateSigningRequest, 0, len(batch))
	for _, csr := range batch {
		list = append(list, csr)
	}
	return a.judge(ctx, list)
}
