// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"fmt"
	"time"

	"github.com/robfig/cron/v3"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// Pool describes the configuration of a NodePool that its nodes must get, and the limits of the rollout.
type Pool struct {
	Config         string // hash of the configuration, which includes the release; "" if unknown
	Release        string // for people
	MaxUnavailable intstr.IntOrString
	Blocked        string        // why no node gets a slot, "" if nothing prevents it
	Window         *Window       // nil: at any time
	MaxFailures    int           // nodes that may fail before the rollout stops; 0 stops at the first one
	SlotTimeout    time.Duration // after which a slot has failed; 0: never, a person releases it
}

// maxUnavailable returns the number of nodes that may be unavailable at a time, at least one: a percentage is rounded
// down, as for the Machines of an InPlace NodePool.
func (p Pool) maxUnavailable(nodes int) (int, error) {
	limit, err := intstr.GetScaledValueFromIntOrPercent(&p.MaxUnavailable, nodes, false)
	if err != nil {
		return 0, fmt.Errorf("maxUnavailable of the NodePool: %w", err)
	}
	return max(limit, 1), nil
}

// Window is a time that begins regularly, in which slots are given.
type Window struct {
	schedule cron.Schedule
	duration time.Duration
}

// NewWindow returns a window that opens by a schedule, the five fields of cron in a time zone ("" for UTC).
func NewWindow(schedule, zone string, duration time.Duration) (*Window, error) {
	if duration <= 0 {
		return nil, fmt.Errorf("the duration of the window is %s", duration)
	}
	location, err := time.LoadLocation(zone)
	if err != nil {
		return nil, fmt.Errorf("time zone of the window: %w", err)
	}
	parsed, err := cron.ParseStandard("CRON_TZ=" + location.String() + " " + schedule)
	if err != nil {
		return nil, fmt.Errorf("schedule of the window %q: %w", schedule, err)
	}
	return &Window{schedule: parsed, duration: duration}, nil
}

// IsOpen reports whether the window is open. A nil window is always open.
func (w *Window) IsOpen(now time.Time) bool {
	return w == nil || !w.schedule.Next(now.Add(-w.duration)).After(now)
}

// nextChange returns when the window opens or closes next, the zero time for a nil window.
func (w *Window) nextChange(now time.Time) time.Time {
	if w == nil {
		return time.Time{}
	}
	if begin := w.schedule.Next(now.Add(-w.duration)); !begin.After(now) {
		return begin.Add(w.duration)
	}
	return w.schedule.Next(now)
}
