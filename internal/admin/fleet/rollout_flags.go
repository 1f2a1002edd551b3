// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"context"
	"io"
	"maps"
	"regexp"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/hcp-node-agent/hcp-node-agent/internal/admin/rollout"
	"github.com/hcp-node-agent/hcp-node-agent/internal/api/v1alpha1"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// RolloutFlags are the flags that change a NodeRollout. A setting without a value is removed.
type RolloutFlags struct {
	Start                  bool // permits to create the NodeRollout
	MaxUnavailable, Canary string
	Pause, Resume          bool
	AllowMajor             bool
	Window, TimeZone       string
	WindowDuration         time.Duration
	MaxFailures            int32
	SlotTimeout            time.Duration
	Retried, Ended         []string // nodes
}

// RolloutChange changes the specification of a NodeRollout.
type RolloutChange func(*v1alpha1.NodeRolloutSpec)

// validUnavailable matches what the API server accepts as maxUnavailable.
var validUnavailable = regexp.MustCompile(`^([1-9][0-9]{0,8}|([1-9][0-9]?|100)%)$`)

// Change returns the change by the flags for which isSet returns true, nil for none. It fails if a flag is not valid.
func (f RolloutFlags) Change(isSet func(flag string) bool) (RolloutChange, error) {
	var wanted v1alpha1.NodeRolloutSpec
	if f.MaxUnavailable != "" {
		if !validUnavailable.MatchString(f.MaxUnavailable) {
			return nil, report.UsageError("--max-unavailable %s: must be a positive number or 1%% to 100%%", f.MaxUnavailable)
		}
		wanted.MaxUnavailable = ptr.To(intstr.Parse(f.MaxUnavailable))
	}
	canary, err := metav1.ParseToLabelSelector(f.Canary)
	if err != nil {
		return nil, report.UsageError("--canary: %w", err)
	}
	if f.Canary != "" {
		wanted.Canary = canary
	}
	if wanted.Window, err = f.window(); err != nil {
		return nil, err
	}
	if f.SlotTimeout > 0 {
		wanted.SlotTimeout = &metav1.Duration{Duration: f.SlotTimeout}
	}
	changes := map[string]RolloutChange{
		"max-unavailable": func(spec *v1alpha1.NodeRolloutSpec) { spec.MaxUnavailable = wanted.MaxUnavailable },
		"pause":           func(spec *v1alpha1.NodeRolloutSpec) { spec.Paused = f.Pause },
		"resume":          func(spec *v1alpha1.NodeRolloutSpec) { spec.Paused = !f.Resume },
		"allow-major":     func(spec *v1alpha1.NodeRolloutSpec) { spec.AllowMajor = f.AllowMajor },
		"canary":          func(spec *v1alpha1.NodeRolloutSpec) { spec.Canary = wanted.Canary },
		"window":          func(spec *v1alpha1.NodeRolloutSpec) { spec.Window = wanted.Window },
		"max-failures":    func(spec *v1alpha1.NodeRolloutSpec) { spec.MaxFailures = f.MaxFailures },
		"slot-timeout":    func(spec *v1alpha1.NodeRolloutSpec) { spec.SlotTimeout = wanted.SlotTimeout },
	}
	maps.DeleteFunc(changes, func(flag string, _ RolloutChange) bool { return !isSet(flag) })
	if len(changes) == 0 && !f.Start {
		return nil, nil //nolint:nilnil // nothing is changed
	}
	return func(spec *v1alpha1.NodeRolloutSpec) {
		for _, change := range changes {
			change(spec)
		}
	}, nil
}

// window returns the maintenance window, nil for none.
func (f RolloutFlags) window() (*v1alpha1.MaintenanceWindow, error) {
	switch {
	case f.Window == "" && (f.TimeZone != "" || f.WindowDuration != 0):
		return nil, report.UsageError("--window-duration and --time-zone require --window")
	case f.Window == "":
		return nil, nil //nolint:nilnil // it is always open
	case f.WindowDuration <= 0:
		return nil, report.UsageError("--window requires --window-duration, for example 4h")
	}
	if _, err := rollout.NewWindow(f.Window, f.TimeZone, f.WindowDuration); err != nil {
		return nil, report.UsageError("--window: %w", err)
	}
	return &v1alpha1.MaintenanceWindow{
		Schedule: f.Window, Duration: metav1.Duration{Duration: f.WindowDuration}, TimeZone: f.TimeZone,
	}, nil
}

// Upgrade makes the changes of the flags to the NodeRollout of a NodePool, and returns it, nil if it does not exist.
// change is the result of RolloutFlags.Change.
func (c Client) Upgrade(
	ctx context.Context, nodePool string, flags RolloutFlags, change RolloutChange,
) (*v1alpha1.NodeRollout, error) {
	if len(flags.Retried)+len(flags.Ended) > 0 {
		if err := c.Release(ctx, nodePool, flags.Retried, flags.Ended); err != nil {
			return nil, err
		}
	}
	if change == nil {
		return c.Rollout(ctx, nodePool)
	}
	return c.ChangeRollout(ctx, nodePool, flags.Start, change)
}

// PrintRollout prints a NodeRollout in a format of kubectl: json, yaml or name. It fails if object is nil.
func PrintRollout(w io.Writer, format, nodePool string, object *v1alpha1.NodeRollout) error {
	if object == nil {
		return WithoutRollout(nodePool)
	}
	object.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("NodeRollout")) // a typed client decodes without it
	return objectPrinter(format).PrintObj(object, w)
}
