// SPDX-License-Identifier: Apache-2.0

package approver

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/hcp-node-agent/hcp-node-agent/internal/kube"
	"github.com/hcp-node-agent/hcp-node-agent/internal/wait"
)

// Intervals at which a watching approver processes all CSRs again although none has changed. A
// refusal because of a Node, a usage record or an expiry time can become obsolete.
const (
	resyncInterval = 5 * time.Minute
	// minResyncDelay is the initial interval while a CSR of an enrolled node is pending. It is doubled each time.
	minResyncDelay         = 30 * time.Second
	enrollmentPollInterval = 2 * time.Second
)

// Once decides on all existing CSRs and reports their number.
func (a *Approver) Once(ctx context.Context) error {
	a.loadEnrollments()
	if err := a.checkHostedCluster(ctx); err != nil {
		return a.explain(err)
	}
	for {
		a.hasConflict = false
		if _, err := a.resync(ctx); err != nil {
			return a.explain(err)
		}
		if !a.hasConflict {
			a.emit(Event{Outcome: Note, Reason: a.server + ": " + a.summary()})
			return a.explain(a.stats.combinedError())
		}
	}
}

// Watch decides on all existing and new CSRs until ctx ends, and then returns nil. It retries
// while the API server is unreachable. A permanent error, such as a missing right of the
// credential, ends Watch only before the first successful resync.
func (a *Approver) Watch(ctx context.Context) error {
	a.loadEnrollments()
	a.emit(Event{Outcome: Note, Reason: fmt.Sprintf("watching %s with %d enrollments", a.server, a.enrollments.Len())})
	version, err := a.syncWithRetries(ctx, a.startSync, isPermanent)
	if err != nil && ctx.Err() == nil {
		return err
	}
	if err == nil && a.options.OnReady != nil {
		a.options.OnReady()
	}
	for ctx.Err() == nil {
		a.setStatus(a.summary())
		a.watchChanges(ctx, version)
		version, _ = a.syncWithRetries(ctx, a.syncAgain, func(error) bool { return false }) // fails when ctx ends
	}
	return nil
}

// syncWithRetries repeats sync until it succeeds, and returns its resource version. It fails if isFatal reports
// so, or when ctx ends. It reports the begin and the end of an outage.
func (a *Approver) syncWithRetries(
	ctx context.Context, sync func(context.Context) (string, error), isFatal func(error) bool,
) (string, error) {
	reported := "" // the last reported error
	for failures := 1; ; failures++ {
		version, err := sync(ctx)
		a.health.isSynced.Store(err == nil)
		switch {
		case ctx.Err() != nil:
			return "", ctx.Err()
		case err == nil:
			if reported != "" {
				a.emit(Event{Outcome: Note, Reason: "the API server is reachable again"})
			}
			return version, nil
		}
		if err = a.explain(err); isFatal(err) {
			return "", err
		}
		if reported != err.Error() {
			reported = err.Error()
			a.emit(Event{Outcome: Warning, Reason: reported, Remedy: "# retried automatically"})
			a.setStatus(reported)
		}
		longest := min(15*time.Second, time.Second<<min(failures, 4))
		_ = wait.Sleep(ctx, time.Duration(rand.Float64()*float64(longest))) //nolint:gosec // only spreads the load
	}
}

// startSync makes the first resync. Before that, it checks whether the cluster is a hosted cluster and whether
// the usage records are readable: with the first node it would be too late.
func (a *Approver) startSync(ctx context.Context) (string, error) {
	if a.dir.hasChanged() {
		a.loadEnrollments()
	}
	if err := a.checkHostedCluster(ctx); err != nil {
		return "", err
	}
	if _, err := a.usage.read(ctx); err != nil {
		return "", err
	}
	return a.resync(ctx)
}

// syncAgain makes a resync with the current enrollments.
func (a *Approver) syncAgain(ctx context.Context) (string, error) {
	if a.dir.hasChanged() {
		a.loadEnrollments()
	}
	return a.resync(ctx)
}

func (a *Approver) summary() string {
	return fmt.Sprintf("enrollments: %d; CSRs approved: %d, ignored or refused: %d",
		a.enrollments.Len(), a.approvedCount, a.reported.pendingCount())
}

func (a *Approver) setStatus(text string) {
	if a.options.OnStatus != nil {
		a.options.OnStatus(text)
	}
}

// resync decides on all CSRs, page by page, and returns the resource version to watch from. A
// single CSR that cannot be approved is no error. Only the last reported reason of a pending CSR
// is kept in memory.
func (a *Approver) resync(ctx context.Context) (string, error) {
	a.needsResync, a.stats = false, approvalStats{}
	a.reported.beginResync()
	version, err := a.eachPage(ctx, metav1.ListOptions{}, func(page []kube.CSR) error {
		var batch []*kube.CSR
		for n := range page {
			if !IsDecided(&page[n]) {
				batch = append(batch, &page[n])
				a.reported.keep(page[n].UID)
			}
		}
		return a.process(ctx, batch)
	})
	if err != nil {
		return "", err
	}
	if a.reported.endResync() {
		a.emit(Event{
			Outcome: Warning, Remedy: "oc get csr",
			Reason: fmt.Sprintf("%d CSRs are pending; only %d of them are reported individually",
				a.reported.pendingCount(), maxReportedCSRs),
		})
	}
	return version, a.checkCanApprove(ctx)
}

// watchChanges decides on changed CSRs until the next resync is due: when the enrollments change, after
// resyncInterval at the latest, and when the watch ends.
func (a *Approver) watchChanges(ctx context.Context, version string) {
	ctx, cancel := context.WithTimeout(ctx, resyncInterval)
	defer cancel()
	started, seconds := time.Now(), int64(resyncInterval.Seconds())+1
	watcher, err := a.client.CSRs().Watch(ctx, metav1.ListOptions{ResourceVersion: version, TimeoutSeconds: &seconds})
	if err != nil {
		_ = wait.Sleep(ctx, time.Second) // the next list reports the cause
		return
	}
	defer watcher.Stop()
	enrollments := time.NewTicker(enrollmentPollInterval)
	defer enrollments.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-enrollments.C:
			a.health.recordProgress()
			if a.dir.hasChanged() {
				return
			}
			if a.needsResync && time.Since(started) > a.resyncDelay {
				a.resyncDelay = min(2*a.resyncDelay, resyncInterval)
				return
			}
		case event, open := <-watcher.ResultChan():
			if !open || a.processEvents(ctx, watcher, event) != nil {
				_ = wait.Sleep(ctx, time.Second) // the next list reports the cause and includes the unprocessed CSRs
				return
			}
		}
	}
}

var errWatchBroken = errors.New("the watch was interrupted")

// processEvents decides on a changed CSR, together with those that follow within a short time. The CSRs of
// many nodes often arrive at once, and one write then records many tokens as used.
func (a *Approver) processEvents(ctx context.Context, watcher watch.Interface, event watch.Event) error {
	//nolint:gosec // so that two approvers do not stay in step; nothing secret
	window := time.NewTimer(time.Duration(20+rand.IntN(60)) * time.Millisecond)
	defer window.Stop()
	batch := map[types.UID]*kube.CSR{}
	for {
		csr, isCSR := event.Object.(*kube.CSR)
		switch {
		case !isCSR:
			return errWatchBroken
		case event.Type == watch.Deleted, IsDecided(csr):
			delete(batch, csr.UID)
			a.reported.forget(csr.UID)
		default:
			batch[csr.UID] = csr
		}
		if len(batch) == 0 || len(batch) == maxHeldCSRs {
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
	return a.process(ctx, slices.Collect(maps.Values(batch)))
}
