// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"io"
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

// schedule runs jobs in their order, a number of them at a time, and passes each result to done, one at a time. No job
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

// start returns the number of jobs that were not started.
func (s *schedule) start(ctx context.Context, jobs []job) int {
	var (
		mutex   sync.Mutex
		workers sync.WaitGroup
		stopped bool
	)
	began, next := s.now(), 0
	take := func() (job, bool) {
		mutex.Lock()
		defer mutex.Unlock()
		spent := s.budget > 0 && s.now().Sub(began) >= s.budget
		if next == len(jobs) || stopped || spent || ctx.Err() != nil {
			return job{}, false
		}
		next++
		fmt.Fprintf(s.out, "%s  starting  %s\n", s.now().Format(time.TimeOnly), jobs[next-1].name)
		return jobs[next-1], true
	}
	for range s.slots {
		workers.Go(func() {
			for j, ok := take(); ok; j, ok = take() {
				r := result{job: j, started: s.now()}
				r.err = s.run(ctx, j)
				r.ended = s.now()
				mutex.Lock()
				stopped = stopped || r.err != nil && !s.keepGoing
				s.done(r)
				mutex.Unlock()
			}
		})
	}
	workers.Wait()
	return len(jobs) - next
}
