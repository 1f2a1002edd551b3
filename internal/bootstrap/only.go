package bootstrap

import (
	"context"
	"errors"
	"slices"
	"strings"
)

// Only runs the named steps of a join alone, on a host that has joined or not:
// to move the uplink into br-ex before anything else, or once more. No join
// begins with it, and none counts as further than it was; leave undoes it. It
// tells whether it changed anything.
func Only(ctx context.Context, options Options, names []string) (bool, error) {
	if options.Resume {
		return false, usage("--only and --resume cannot be given together")
	}
	steps, err := alone(names)
	if err != nil {
		return false, err
	}
	state, err := readState(options.StateDir)
	if err != nil {
		return false, err
	}
	j := &join{config: continued(options.Config, state), dir: options.StateDir, sink: options.Sink, state: state, name: state.NodeName}
	if j.machine, err = openMachine(ctx, options.StateDir, true); err != nil {
		return false, err
	}
	defer j.close()
	ctx, cancel := j.inTime(ctx)
	defer cancel()
	changed := false
	for _, step := range steps {
		did, err := j.one(ctx, step)
		if err != nil {
			if len(j.ledger.Items()) == 0 && !state.Known() {
				err = errors.Join(err, j.forget())
			}
			return changed, err
		}
		changed = changed || did
	}
	return changed, nil
}

// alone finds the steps of these names, in the order of a join.
func alone(names []string) ([]Step, error) {
	var possible []string
	var steps []Step
	for _, step := range Steps() {
		if !step.Alone {
			continue
		}
		possible = append(possible, step.Name)
		if slices.Contains(names, step.Name) {
			steps = append(steps, step)
		}
	}
	for _, name := range names {
		if !slices.Contains(possible, name) {
			return nil, usage("--only %s: only these steps can be run alone: %s", name, strings.Join(possible, ", "))
		}
	}
	return steps, nil
}
