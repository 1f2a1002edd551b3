// SPDX-License-Identifier: Apache-2.0

package service

import (
	"context"
	"fmt"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/machine"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/steps"
)

// Backoff of the service between attempts to join.
const (
	initialBackoff = 10 * time.Second
	maxBackoff     = 5 * time.Minute
	pollInterval   = 5 * time.Second // interval of checks for new input files
)

// maxMigrations is the number of migrations into br-ex that the service attempts if each is rolled back,
// because each interrupts the network of the host.
const maxMigrations = 3

// attempt describes a failed attempt to join or to upgrade.
type attempt struct {
	step string // the step that failed; "" if no step had started
	err  error
}

// isRetryable reports whether the service retries the join or the upgrade itself. This
// covers failures that end with time or by a remote change: network or clock not ready
// at boot, ignition server unavailable, expired token, replaced user data, packages
// being installed, an endpoint that the network step requires, a migration into br-ex
// that was rolled back. Each of these steps leaves the host as it found it when it
// fails. On other failures the service exits, and systemd decides by the exit code.
func (a attempt) isRetryable() bool {
	code := report.CodeOf(a.err)
	switch {
	case code == report.Interrupted || code == report.RebootNeeded:
		return false
	case a.step == "": // the inputs could not be read, or another process holds the lock
		return code == report.Failed || code == report.CredentialRefused
	}
	isRetryable := steps.FindJoinStep(a.step).IsRetryable
	return isRetryable != nil && isRetryable(code)
}

// sameFailure reports whether two attempts failed for the same reason. Messages are
// not compared, because they contain times and counts.
func (a attempt) sameFailure(b attempt) bool {
	return a.step == b.step && report.CodeOf(a.err) == report.CodeOf(b.err) &&
		report.RemedyOf(a.err) == report.RemedyOf(b.err)
}

// backoff returns the wait after the given number of identical failures. It doubles
// with each failure, up to maxBackoff.
func backoff(tries int) time.Duration {
	return min(initialBackoff<<min(tries-1, 10), maxBackoff)
}

// retrier retries a join or an upgrade until it succeeds, a failure is not retryable, or ctx
// ends. Identical failures are reported once. The systemd status always contains
// the reason for the wait.
type retrier struct {
	sink        report.Sink
	try         func(context.Context, report.Sink) error
	fingerprint func() string // changes if there are new input files
	wait        func(context.Context, time.Duration) error
	setStatus   func(status string)
}

func (r retrier) run(ctx context.Context) error {
	var last attempt
	tries, migrations, since := 0, 0, time.Now()
	for {
		sink := &dedupSink{sink: r.sink, previous: last}
		fingerprint := r.fingerprint()
		err := r.try(ctx, sink)
		now := attempt{step: sink.failedStep, err: err}
		if report.CodeOf(err) == report.NetworkRolledBack {
			migrations++
		}
		if err == nil || ctx.Err() != nil || !now.isRetryable() || migrations == maxMigrations {
			sink.flush()
			return err
		}
		if tries++; !now.sameFailure(last) {
			sink.flush()
			tries, since = 1, time.Now()
			r.logRetry(now)
		}
		last = now
		if err := r.waitForRetry(ctx, now, since, backoff(tries), fingerprint); err != nil {
			return err
		}
	}
}

// logRetry logs that the service retries automatically.
func (r retrier) logRetry(a attempt) {
	log := report.Log{Sink: r.sink, Step: a.step}
	if a.step == "" {
		log.Warn(a.err.Error(), report.RemedyOf(a.err)) // no step has reported the failure
	}
	log.Note("retrying automatically, first after " + backoff(1).String() + ", then with increasing backoff; " +
		"new user data or a new join token triggers an immediate retry")
}

// waitForRetry waits for a duration, or until there are new input files: until the fingerprint changes.
func (r retrier) waitForRetry(
	ctx context.Context, a attempt, since time.Time, long time.Duration, fingerprint string,
) error {
	r.setStatus(fmt.Sprintf("waiting since %s, next attempt at %s: %s", report.Timestamp(since),
		report.Timestamp(time.Now().Add(long)), a.err)) // the error contains the name of the step, if any
	for rested := time.Duration(0); rested < long && r.fingerprint() == fingerprint; rested += pollInterval {
		if err := r.wait(ctx, min(pollInterval, long-rested)); err != nil {
			return report.Fail(report.Interrupted, "systemctl start "+machine.ServiceUnit,
				"interrupted while waiting: %s", a.err)
		}
	}
	return nil
}
