// SPDX-License-Identifier: Apache-2.0

package service

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/test/flowtest"
)

func TestWhichFailuresAreRetried(t *testing.T) {
	waits := map[string]map[report.Code]bool{
		"": {
			report.Failed: true, report.CredentialRefused: true, report.Usage: false,
			report.Refused: false, report.Interrupted: false,
		},
		"preflight": {
			report.Failed: true, report.Refused: true, report.RebootNeeded: false,
			report.Interrupted: false,
		},
		"fetch": {
			report.Failed: true, report.Refused: true, report.CredentialRefused: true, report.Usage: true,
			report.Interrupted: false,
		},
		"validate":           {report.Failed: true, report.Refused: true, report.RebootNeeded: false},
		"packages":           {report.Failed: true, report.Refused: true},
		"plan":               {report.Failed: false, report.Refused: true, report.Usage: false},
		"files":              {report.Failed: false, report.Refused: false},
		"network":            {report.Failed: false, report.Refused: true, report.NetworkRolledBack: true},
		"client-certificate": {report.ApprovalMissing: false, report.CredentialRefused: false, report.Failed: false},
		"schedulable":        {report.Failed: false},
	}
	for name, codes := range waits {
		for code, want := range codes {
			if got := (attempt{name, report.Fail(code, "", "no")}).isRetryable(); got != want {
				t.Errorf("step %q, code %d: waits %t", name, code, got)
			}
		}
	}
}

func TestBackoffGrows(t *testing.T) {
	var got []time.Duration
	for _, tries := range []int{1, 2, 3, 5, 6, 100000} {
		got = append(got, backoff(tries))
	}
	want := []time.Duration{
		10 * time.Second, 20 * time.Second, 40 * time.Second, 160 * time.Second, 5 * time.Minute,
		5 * time.Minute,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// runAttempts runs a service whose attempts end as specified, one after the other.
func runAttempts(
	t *testing.T, ctx context.Context, marks func() string, //nolint:revive // the test's own first
	wait func(time.Duration), ends ...attempt,
) (logged flowtest.Events, statuses []string, err error) {
	t.Helper()
	n := 0
	err = retrier{
		sink: &logged, fingerprint: marks,
		try: func(_ context.Context, sink report.Sink) error {
			end := ends[n]
			n++
			sink.Emit(report.Event{Kind: report.Headline, Message: "a joins"})
			for _, step := range []string{"preflight", "fetch", "files", "network"} {
				sink.Emit(report.Event{Kind: report.StepStarted, Step: step})
				if end.step == step {
					sink.Emit(report.Event{Kind: report.StepFailed, Step: step, Message: end.err.Error()})
					return end.err
				}
				sink.Emit(report.Event{Kind: report.StepDone, Step: step})
			}
			return end.err
		},
		wait:      func(_ context.Context, long time.Duration) error { wait(long); return ctx.Err() },
		setStatus: func(status string) { statuses = append(statuses, status) },
	}.run(ctx)
	if n != len(ends) {
		t.Errorf("%d tries of %d", n, len(ends))
	}
	return logged, statuses, err
}

func noFingerprint() string { return "" }

// noNetwork is a failure that ends with time.
var noNetwork = attempt{"preflight", report.Fail(report.Refused, "correct the name server", "preflight: no such name")}

// An expired token must be reported once. Meanwhile systemd's status must contain
// the reason, and the join continues once an attempt succeeds.
func TestServiceReportsAFailureOnce(t *testing.T) {
	expired := attempt{"fetch", report.Fail(report.CredentialRefused, "current user data", "fetch: token expired")}
	var rested time.Duration
	logged, statuses, err := runAttempts(t, t.Context(), noFingerprint, func(long time.Duration) { rested += long },
		noNetwork, noNetwork, expired, expired, expired, attempt{})
	if err != nil {
		t.Fatal(err)
	}
	again := "retrying automatically, first after 10s, then with increasing backoff; " +
		"new user data or a new join token triggers an immediate retry"
	want := flowtest.Events{
		"headline  a joins", "started preflight", "failed preflight preflight: no such name", "note preflight " + again,
		"headline  a joins", "started preflight", "ok preflight", "started fetch", "failed fetch fetch: token expired",
		"note fetch " + again,
		"headline  a joins", "started preflight", "ok preflight", "started fetch", "ok fetch", "started files", "ok files",
		"started network", "ok network",
	}
	if diff := cmp.Diff(want, logged); diff != "" {
		t.Errorf("story (-want +got):\n%s", diff)
	}
	if rested != (10+20+10+20+40)*time.Second {
		t.Errorf("rested %s", rested)
	}
	if len(statuses) != 5 || !strings.HasPrefix(statuses[4], "waiting since ") ||
		!strings.HasSuffix(statuses[4], ": fetch: token expired") {
		t.Errorf("status %q", statuses)
	}
}

// New user data must end the backoff immediately.
func TestServiceRetriesAtOnceWithNewUserData(t *testing.T) {
	expired := attempt{"fetch", report.Fail(report.CredentialRefused, "current user data", "fetch: token expired")}
	userData, waits := "old", 0
	_, _, err := runAttempts(t, t.Context(), func() string { return userData }, func(time.Duration) {
		if waits++; waits == 1 {
			userData = "fresh"
		}
	}, expired, attempt{})
	if err != nil || waits != 1 {
		t.Errorf("%d waits, %v", waits, err)
	}
}

func TestServiceExitsOnPermanentFailures(t *testing.T) {
	never := func(time.Duration) { t.Error("it waits") }
	for name, end := range map[string]attempt{
		"bad input": {"", report.Fail(report.Usage, "", "no user data")},
		"unknown":   {"files", errors.New("files: disk is full")},
	} {
		_, statuses, err := runAttempts(t, t.Context(), noFingerprint, never, end)
		if !errors.Is(err, end.err) || len(statuses) != 0 {
			t.Errorf("%s: %v, %q", name, err, statuses)
		}
	}
}

// Each migration interrupts the network, so that their number is limited, also if another failure occurs
// in between.
func TestServiceLimitsMigrations(t *testing.T) {
	rolledBack := attempt{"network", report.Fail(report.NetworkRolledBack, "", "network: rolled back")}
	waits := 0
	count := func(time.Duration) { waits++ }
	_, _, err := runAttempts(t, t.Context(), noFingerprint, count, rolledBack, noNetwork, rolledBack, rolledBack)
	if !errors.Is(err, rolledBack.err) || waits == 0 {
		t.Errorf("%v after %d waits", err, waits)
	}
	if _, _, err := runAttempts(t, t.Context(), noFingerprint, count, rolledBack, attempt{}); err != nil {
		t.Errorf("the second migration succeeds: %v", err)
	}
}

// systemctl stop must end the wait.
func TestServiceStopsDuringBackoff(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	_, _, err := runAttempts(t, ctx, noFingerprint, func(time.Duration) { cancel() },
		attempt{"fetch", report.Fail(report.Failed, "", "fetch: unreachable")})
	if report.CodeOf(err) != report.Interrupted || !strings.Contains(err.Error(), "fetch: unreachable") {
		t.Errorf("%v (%d)", err, report.CodeOf(err))
	}
}

// If no step has started, the retrier itself must report the failure.
func TestServiceReportsFailuresWithoutAStep(t *testing.T) {
	logged, _, err := runAttempts(t, t.Context(), noFingerprint, func(time.Duration) {},
		attempt{"", report.Fail(report.CredentialRefused, "a new join token", "the join token has expired")}, attempt{})
	if err != nil || !strings.Contains(strings.Join(logged, "\n"), "warning  the join token has expired") {
		t.Errorf("%v: %q", err, logged)
	}
}

// If an attempt gets further than the previous one, which had not started a step,
// its events must be passed on immediately. The attempt may wait for an approval
// from then on.
func TestServiceReportsTheFirstStepAtOnce(t *testing.T) {
	var logged flowtest.Events
	sink := &dedupSink{sink: &logged, previous: attempt{"", report.Fail(report.CredentialRefused, "a new join token",
		"the join token has expired")}}
	sink.Emit(report.Event{Kind: report.Headline, Message: "worker-0 joins"})
	if len(logged) > 0 {
		t.Errorf("passed on too early: %v", logged)
	}
	sink.Emit(report.Event{Kind: report.StepStarted, Step: "preflight"})
	sink.Emit(report.Event{Kind: report.Waiting, Step: "client-certificate", Message: "approval"})
	if len(logged) != 3 {
		t.Errorf("passed on: %v", logged)
	}
}
