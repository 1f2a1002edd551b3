// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	_ "embed"
	"errors"
	"fmt"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

//go:embed selection.yaml
var selectionFile []byte

// selection describes which conformance tests are run, see selection.yaml.
type selection struct {
	Groups  []string  `json:"groups"`
	Skip    []skipped `json:"skip"`
	Default []string  `json:"default"`
}

// skipped are tests that are not run.
type skipped struct {
	Reason string   `json:"reason"`
	Tests  []string `json:"tests"`
}

func parseSelection(content []byte) (selection, error) {
	var s selection
	if err := yaml.UnmarshalStrict(content, &s); err != nil {
		return s, fmt.Errorf("decoding the selection of conformance tests: %w", err)
	}
	for _, skip := range s.Skip {
		if skip.Reason == "" {
			return s, fmt.Errorf("skipped conformance tests without a reason: %q", skip.Tests)
		}
	}
	return s, nil
}

// plan are the tests of the groups: those to run, those that the environment cannot run, by reason, and those that
// only a complete run has.
type plan struct {
	run     []string
	skipped map[string][]string
	rest    []string
}

// choose divides the names of all conformance tests. It returns an error if an entry of the selection matches none.
func (s selection) choose(names []string, all bool) (plan, error) {
	p := plan{skipped: map[string][]string{}}
	used := map[string]bool{}
	matches := func(name string, parts []string) bool {
		found := false
		for _, part := range parts {
			if strings.Contains(name, part) {
				found, used[part] = true, true
			}
		}
		return found
	}
	for _, name := range names {
		if !matches(name, s.Groups) {
			continue
		}
		byDefault := matches(name, s.Default)
		i := slices.IndexFunc(s.Skip, func(skip skipped) bool { return matches(name, skip.Tests) })
		switch {
		case i >= 0:
			p.skipped[s.Skip[i].Reason] = append(p.skipped[s.Skip[i].Reason], name)
		case all || byDefault:
			p.run = append(p.run, name)
		default:
			p.rest = append(p.rest, name)
		}
	}
	var errs []error
	entries := slices.Concat(s.Groups, s.Default)
	for _, skip := range s.Skip {
		entries = append(entries, skip.Tests...)
	}
	for _, entry := range entries {
		if !used[entry] {
			errs = append(errs, fmt.Errorf("no conformance test has %q in its name", entry))
		}
	}
	return p, errors.Join(errs...)
}
