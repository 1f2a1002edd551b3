package bootstrap

import (
	"context"
	"errors"
	"slices"
	"strings"
)

// Only runs only the named steps, for example to attach the uplink to br-ex
// before a join. The host does not have to be joined. RunOnly starts no join and
// does not change the recorded progress; leave undoes the changes. It reports
// whether anything changed.
func Only(ctx context.Context, options Options, names []string) (bool, error) {
	if options.Resume {
		return false, usage("--only and --resume cannot be given together")
	}
	steps, err := alone(names)
	if err != nil {
		return false, err
	}
	ctx, cancel := withTimeout(ctx, options.Config.Timeout)
	defer cancel()
	m, turn, err := takeTurn(ctx, options)
	if err != nil {
		return false, err
	}
	j := &join{dir: options.StateDir, sink: options.Sink, machine: m}
	changed, err := j.only(ctx, options, steps)
	m.close()
	if turn.stopped {
		j.beginService(context.WithoutCancel(ctx))
	}
	return changed, err
}

func (j *join) only(ctx context.Context, options Options, steps []Step) (bool, error) {
	state, err := readState(j.dir)
	if err != nil {
		return false, err
	}
	j.state, j.name, j.config = state, state.NodeName, continued(options.Config, state)
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

// alone returns the named steps in the order of a join. It fails if a step
// depends on the result of an earlier one.
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
