// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"
)

// A result is the end of a job.
type result struct {
	job     job
	err     error
	cached  bool // passed before with the same inputs, and not run again
	started time.Time
	ended   time.Time
}

func (r result) duration() time.Duration { return r.ended.Sub(r.started) }

// schedule runs jobs, a number of them at a time, and passes each result to done, one at a time. Jobs start in their
// order, but only one target of the Makefile at a time, because targets use several processors themselves. No job
// starts after the budget, and none after a failure unless keepGoing is set. A budget of 0 is unlimited.
type schedule struct {
	slots     int
	budget    time.Duration
	keepGoing bool
	now       func() time.Time
	run       func(context.Context, job) error
	done      func(result)
	out       io.Writer
}

// start runs the jobs and returns the number of those that were not started.
func (s *schedule) start(ctx context.Context, jobs []job) int {
	var (
		mutex    sync.Mutex
		workers  sync.WaitGroup
		stopped  bool
		isTarget bool // whether a target runs
	)
	began, waiting := s.now(), slices.Clone(jobs)
	take := func() (job, bool) {
		mutex.Lock()
		defer mutex.Unlock()
		spent := s.budget > 0 && s.now().Sub(began) >= s.budget
		next := slices.IndexFunc(waiting, func(j job) bool { return j.test != nil || !isTarget })
		if next < 0 || stopped || spent || ctx.Err() != nil {
			return job{}, false
		}
		taken := waiting[next]
		waiting = slices.Delete(waiting, next, next+1)
		isTarget = isTarget || taken.test == nil
		fmt.Fprintf(s.out, "%s  starting  %s\n", s.now().Format(time.TimeOnly), taken.name)
		return taken, true
	}
	for range s.slots {
		workers.Go(func() {
			for j, ok := take(); ok; j, ok = take() {
				r := result{job: j, started: s.now()}
				r.err = s.run(ctx, j)
				r.ended = s.now()
				mutex.Lock()
				isTarget = isTarget && j.test != nil
				stopped = stopped || r.err != nil && !s.keepGoing
				s.done(r)
				mutex.Unlock()
			}
		})
	}
	workers.Wait()
	return len(waiting)
}
