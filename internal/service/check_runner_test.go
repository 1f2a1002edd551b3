// SPDX-License-Identifier: Apache-2.0

package service

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// recorder is a Monitor that records its actions with the seconds since its start.
type recorder struct {
	Monitor
	began time.Time
	notes []string
}

func (r *recorder) note(text string) {
	r.notes = append(r.notes, strconv.Itoa(int(time.Since(r.began)/time.Second))+" "+text)
}

func newRecorder(checks ...Check) *recorder {
	r := &recorder{began: time.Now()}
	r.Monitor = Monitor{
		Checks: checks, Timeout: 10 * time.Second, ConfirmAfter: 30 * time.Second, RecheckAfter: 24 * time.Hour,
		OnChange: func(_ context.Context, changes []Change) {
			for _, c := range changes {
				r.note("report " + c.Subject)
			}
		},
		OnTick: func(context.Context, []Change, bool) {},
		Done:   func() (bool, error) { return false, nil },

		Suspended: func() bool { return false }, Disconnected: func() bool { return false },
	}
	for i := range r.Checks {
		find, name := r.Checks[i].Find, r.Checks[i].Name
		r.Checks[i].Find = func(ctx context.Context) ([]report.Finding, error) {
			r.note(name)
			return find(ctx)
		}
	}
	return r
}

func healthy(context.Context) ([]report.Finding, error) { return nil, nil }

func TestRunUsesCheckIntervals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 65*time.Second)
		defer cancel()
		r := newRecorder(Check{Name: "often", Interval: 20 * time.Second, Find: healthy},
			Check{Name: "rarely", Interval: time.Minute, Find: healthy})
		if err := r.Run(ctx); err != nil {
			t.Fatal(err)
		}
		want := []string{"0 often", "0 rarely", "20 often", "40 often", "60 often", "60 rarely"}
		if !slices.Equal(r.notes, want) {
			t.Errorf("%q, want %q", r.notes, want)
		}
	})
}

// An event runs a check at once. While the check awaits confirmation, a further event must
// not confirm a change that is still in progress.
func TestWakeRunsCheckAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 70*time.Second)
		defer cancel()
		began := time.Now()
		r := newRecorder(Check{Name: "host", Interval: time.Hour, Find: func(context.Context) ([]report.Finding, error) {
			if time.Since(began) >= 10*time.Second {
				return []report.Finding{{Subject: "address"}}, nil
			}
			return nil, nil
		}}, Check{Name: "other", Interval: time.Hour, Find: healthy})
		wake := make(chan string)
		r.Wake = wake
		go func() {
			time.Sleep(10 * time.Second)
			for range 2 {
				wake <- "host"
				time.Sleep(time.Second)
			}
		}()
		if err := r.Run(ctx); err != nil {
			t.Fatal(err)
		}
		want := []string{"0 host", "0 other", "10 host", "40 host", "40 report address"}
		if !slices.Equal(r.notes, want) {
			t.Errorf("%q, want %q", r.notes, want)
		}
	})
}

// A check that hangs ends at its timeout and is reported. Other checks still run.
func TestRunContinuesAfterHangingCheck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 45*time.Second)
		defer cancel()
		hang := func(ctx context.Context) ([]report.Finding, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}
		r := newRecorder(Check{Name: "hangs", Interval: 20 * time.Second, Find: hang},
			Check{Name: "other", Interval: 20 * time.Second, Find: healthy})
		if err := r.Run(ctx); err != nil {
			t.Fatal(err)
		}
		want := []string{"0 hangs", "10 other", "30 hangs", "40 report failed checks", "40 other"}
		if !slices.Equal(r.notes, want) {
			t.Errorf("%q, want %q", r.notes, want)
		}
	})
}

// A failed check does not resolve its earlier findings.
func TestRunKeepsFindingsOfFailedCheck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
		defer cancel()
		var checks int
		r := newRecorder(Check{
			Name: "check", Interval: 20 * time.Second,
			Find: func(context.Context) ([]report.Finding, error) {
				if checks++; checks > 2 {
					return nil, errors.New("unreadable")
				}
				return []report.Finding{{Subject: "it"}}, nil
			},
		})
		var active []Change
		r.OnTick = func(_ context.Context, all []Change, _ bool) { active = all }
		if err := r.Run(ctx); err != nil {
			t.Fatal(err)
		}
		changes := slices.DeleteFunc(r.notes, func(note string) bool { return strings.HasSuffix(note, " check") })
		if want := []string{"20 report it", "60 report failed checks"}; !slices.Equal(changes, want) || len(active) != 2 {
			t.Errorf("%q, want %q; %d active findings", changes, want, len(active))
		}
	})
}

// The result of a check that was canceled at the end of the monitoring is not reported.
func TestRunDiscardsCanceledCheck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		r := newRecorder(Check{
			Name: "hangs", Interval: time.Second,
			Find: func(ctx context.Context) ([]report.Finding, error) {
				<-ctx.Done()
				return []report.Finding{{Subject: "partial"}}, ctx.Err()
			},
		})
		if err := r.Run(ctx); err != nil || len(r.tracker.all) > 0 {
			t.Errorf("%v, tracked findings: %v", err, r.tracker.all)
		}
	})
}

func TestRunEndsWhenDone(t *testing.T) {
	for name, want := range map[string]error{"done": nil, "failed": errors.New("unreadable")} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRecorder(Check{Name: "once", Interval: time.Second, Find: healthy})
				checks := 0
				r.Done = func() (bool, error) {
					checks++
					return checks > 3 && want == nil, map[bool]error{true: want}[checks > 3]
				}
				if err := r.Run(t.Context()); !errors.Is(err, want) {
					t.Errorf("%v, want %v", err, want)
				}
				if len(r.notes) != 3 {
					t.Errorf("%q", r.notes)
				}
			})
		})
	}
}

// OnTick receives the active findings after every check. It is settled only when every
// check has run and no confirmation is pending.
func TestRunCallsOnTick(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 45*time.Second)
		defer cancel()
		var checks int
		r := newRecorder(Check{
			Name: "bad", Interval: 10 * time.Second,
			Find: func(context.Context) ([]report.Finding, error) {
				if checks++; checks == 1 || checks == 5 {
					return nil, nil
				}
				return []report.Finding{{Subject: "it"}}, nil
			},
		}, Check{Name: "healthy", Interval: time.Hour, Find: healthy})
		var ticks []string
		r.OnTick = func(_ context.Context, all []Change, settled bool) {
			ticks = append(ticks, fmt.Sprint(len(all), settled))
		}
		want := []string{"0 false", "0 true", "0 false", "1 true", "1 true", "1 false"}
		if err := r.Run(ctx); err != nil || !slices.Equal(ticks, want) {
			t.Errorf("%q, %v, want %q", ticks, err, want)
		}
	})
}

// A check with active findings is repeated after RecheckAfter, and all checks on request.
func TestRunRechecksActiveFindings(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Minute)
		defer cancel()
		bad := func(context.Context) ([]report.Finding, error) { return []report.Finding{{Subject: "it"}}, nil }
		r := newRecorder(Check{Name: "bad", Interval: time.Hour, Find: bad},
			Check{Name: "healthy", Interval: time.Hour, Find: healthy})
		r.RecheckAfter = 15 * time.Minute
		wake := make(chan string)
		r.Wake = wake
		go func() {
			time.Sleep(20 * time.Minute)
			wake <- ""
		}()
		if err := r.Run(ctx); err != nil {
			t.Fatal(err)
		}
		want := []string{"0 bad", "0 healthy", "30 bad", "30 report it", "930 bad", "1200 bad", "1200 healthy"}
		if !slices.Equal(r.notes, want) {
			t.Errorf("%q, want %q", r.notes, want)
		}
	})
}

// New or resolved findings are checked again early.
func TestRunRepeatsCheckForConfirmation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 17*time.Minute)
		defer cancel()
		bad := func(context.Context) ([]report.Finding, error) { return []report.Finding{{Subject: "it"}}, nil }
		var checks int
		r := newRecorder(Check{
			Name: "rarely", Interval: 5 * time.Minute,
			Find: func(ctx context.Context) ([]report.Finding, error) {
				checks++
				if checks == 2 || checks == 3 || checks == 4 {
					return bad(ctx)
				}
				return nil, nil
			},
		})
		if err := r.Run(ctx); err != nil {
			t.Fatal(err)
		}
		want := []string{
			"0 rarely", "300 rarely", "330 rarely", "330 report it", "630 rarely", "930 rarely", "960 rarely",
			"960 report it",
		}
		if !slices.Equal(r.notes, want) {
			t.Errorf("%q, want %q", r.notes, want)
		}
	})
}

// While the monitor is suspended, no check runs, and the status is still reported.
func TestRunSuspendsChecks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 75*time.Second)
		defer cancel()
		r := newRecorder(Check{Name: "check", Interval: 20 * time.Second, Find: healthy})
		r.Suspended = func() bool { return time.Since(r.began) > 10*time.Second && time.Since(r.began) < 50*time.Second }
		r.OnTick = func(_ context.Context, _ []Change, settled bool) { r.note(fmt.Sprintf("tick %t", settled)) }
		if err := r.Run(ctx); err != nil {
			t.Fatal(err)
		}
		want := []string{"0 check", "0 tick true", "20 tick false", "40 tick false", "60 check", "60 tick true"}
		if !slices.Equal(r.notes, want) {
			t.Errorf("%q, want %q", r.notes, want)
		}
	})
}
