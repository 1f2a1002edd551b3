// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"errors"
	"fmt"
	"time"

	"github.com/robfig/cron/v3"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/hcp-node-agent/hcp-node-agent/internal/api/v1alpha1"
	"github.com/hcp-node-agent/hcp-node-agent/internal/lists"
	"github.com/hcp-node-agent/hcp-node-agent/internal/wrap"
)

// Pool describes the configuration of a NodePool that its nodes must get, and the limits of the rollout.
type Pool struct {
	Config         string // hash of the configuration, which includes the release; "" if unknown
	Release        string // for people
	MaxUnavailable intstr.IntOrString
	IsPaused       bool          // by an administrator; Blocked names it
	Blocked        string        // why no node gets a slot, "" if nothing prevents it
	Window         *Window       // nil: at any time
	MaxFailures    int           // nodes that may fail before the rollout stops; 0 stops at the first one
	SlotTimeout    time.Duration // after which a slot has failed; 0: never, a person releases it
}

// maxUnavailable returns the number of nodes that may be unavailable at a time.
func (p Pool) maxUnavailable(nodes []Node) (int, error) {
	members := lists.Count(nodes, func(node Node) bool { return !node.HasLeft })
	limit, err := v1alpha1.ScaleLimit(p.MaxUnavailable, members)
	return limit, wrap.Errorf(err, "maxUnavailable of the NodePool")
}

// needsUpgrade reports whether a node has another configuration than the pool, and its upgrade has not failed.
func (p Pool) needsUpgrade(node Node) bool {
	return node.Config != p.Config && node.Failed != p.Config && !node.HasLeft
}

// Window is a time that begins regularly, in which slots are given.
type Window struct {
	schedule cron.Schedule
	duration time.Duration
}

var (
	fiveFields = cron.NewParser(cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow) // no @hourly
	// leapYear begins years with all days. The search for the next time ends after five years.
	leapYear = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)
)

// WindowOf returns the maintenance window of a NodeRollout, nil for none.
func WindowOf(spec v1alpha1.NodeRolloutSpec) (*Window, error) {
	if spec.Window == nil {
		return nil, nil //nolint:nilnil // always open
	}
	return NewWindow(spec.Window.Schedule, spec.Window.TimeZone, spec.Window.Duration.Duration)
}

// NewWindow returns a window that opens by a schedule, the five fields of cron in a time zone ("" for UTC).
func NewWindow(schedule, zone string, duration time.Duration) (*Window, error) {
	if duration <= 0 {
		return nil, errors.New("the duration of the window must be positive, for example 4h")
	}
	location, err := time.LoadLocation(zone)
	if err != nil {
		return nil, fmt.Errorf("time zone of the window: %w", err)
	}
	parsed, err := fiveFields.Parse("CRON_TZ=" + location.String() + " " + schedule)
	if err == nil && parsed.Next(leapYear).IsZero() {
		err = errors.New("no such day exists, pause the rollout instead")
	}
	if err != nil {
		return nil, fmt.Errorf("schedule of the window %q: %w", schedule, err)
	}
	return &Window{schedule: parsed, duration: duration}, nil
}

// IsOpen reports whether the window is open. A nil window is always open.
func (w *Window) IsOpen(now time.Time) bool {
	if w == nil {
		return true
	}
	begin := w.schedule.Next(now.Add(-w.duration))
	return !begin.IsZero() && !begin.After(now)
}

// NextChange returns when the window opens or closes next, in the time zone of its argument. It returns the
// zero time for a nil window.
func (w *Window) NextChange(now time.Time) time.Time {
	if w == nil {
		return time.Time{}
	}
	if w.IsOpen(now) {
		return w.schedule.Next(now.Add(-w.duration)).Add(w.duration)
	}
	return w.schedule.Next(now)
}
