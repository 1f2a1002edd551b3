// SPDX-License-Identifier: Apache-2.0

package testenv

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"

	"github.com/hcp-node-agent/hcp-node-agent/internal/steps"
	"github.com/hcp-node-agent/hcp-node-agent/internal/upgrade"
	"github.com/hcp-node-agent/hcp-node-agent/test/vm"
	"github.com/hcp-node-agent/hcp-node-agent/test/waittest"
)

// RunUntilOutput runs a command in the machine, and calls then as soon as its output
// matches pattern, a regular expression. It returns the output when the command has ended: then may end it,
// or the machine.
func (s *Environment) RunUntilOutput(ctx context.Context, command, pattern string, then func()) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, waittest.Timeout)
	defer cancel()
	watch := vm.NewPatternWatcher(regexp.MustCompile(pattern))
	ended := make(chan error, 1)
	go func() {
		_, err := s.Machine.RunStream(ctx, command, nil, watch, watch)
		ended <- err
	}()
	select {
	case <-watch.Seen:
		then()
		<-ended // an error is expected: the connection may be lost with the machine
		return watch.String(), nil
	case err := <-ended:
		return "", errors.Join(err, fmt.Errorf("%s ended before its output matched %q:\n%s", command, pattern,
			watch.String()))
	}
}

// Step is a step in the result of a command with -o json.
type Step struct {
	Name    string  `json:"name"`
	Seconds float64 `json:"seconds"`
}

// ParseSteps returns the steps in the result of a command with -o json.
func ParseSteps(result string) ([]Step, error) {
	var parsed struct {
		Steps []Step `json:"steps"`
	}
	if err := json.Unmarshal([]byte(result), &parsed); err != nil {
		return nil, fmt.Errorf("reading the result of a command: %w", err)
	}
	return parsed.Steps, nil
}

// StepLine returns a pattern for an output line of a step: its name is the second word.
func StepLine(step string) string { return `(?m)^\s*\S+\s+` + regexp.QuoteMeta(step) + `\s` }

// KillUpgrade runs an upgrade command repeatedly, and kills the agent in or after each of its steps up to the step
// kubelet. The later ones are over at once. The same command resumes the upgrade. It logs the output of each run.
func (s *Environment) KillUpgrade(ctx context.Context, command string,
	logf func(format string, arguments ...any),
) error {
	for _, step := range upgrade.Steps() {
		var killErr error
		out, err := s.RunUntilOutput(ctx, command, StepLine(step.Name), func() {
			_, killErr = s.Machine.Output(ctx, "pkill -KILL -f '^hcp-node-agent upgrade'")
		})
		if err := errors.Join(err, killErr); err != nil {
			return err
		}
		logf("killed at %s:\n%s", step.Name, out)
		if step.Name == steps.Kubelet {
			return nil
		}
	}
	return nil
}
