// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"fmt"
	"strings"
	"time"

	"github.com/robfig/cron/v3"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// Pool describes the configuration of a NodePool that its nodes must get, and the limits of the rollout.
type Pool struct {
	Config         string // hash of the configuration, which includes the release
	MaxUnavailable intstr.IntOrString
	PausedBy       string        // what pauses the rollout, "" if nothing does
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

// ParseWindow parses a window: the five fields of cron for its begin, and its duration, such as "0 1 * * SAT 4h". The
// times are UTC unless the text begins with CRON_TZ=ZONE.
func ParseWindow(text string) (*Window, error) {
	fields := strings.Fields(text)
	if len(fields) < 6 {
		return nil, fmt.Errorf("window %q is not the five fields of cron and a duration, such as \"0 1 * * SAT 4h\"", text)
	}
	if !strings.HasPrefix(fields[0], "CRON_TZ=") {
		fields = append([]string{"CRON_TZ=UTC"}, fields...)
	}
	last := len(fields) - 1
	duration, err := time.ParseDuration(fields[last])
	if err != nil || duration <= 0 {
		return nil, fmt.Errorf("window %q: %q is not a duration such as 4h", text, fields[last])
	}
	schedule, err := cron.ParseStandard(strings.Join(fields[:last], " "))
	if err != nil {
		return nil, fmt.Errorf("window %q: %w", text, err)
	}
	return &Window{schedule: schedule, duration: duration}, nil
}

// isOpen reports whether the window is open. A nil window is always open.
func (w *Window) isOpen(now time.Time) bool {
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
