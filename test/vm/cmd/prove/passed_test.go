// SPDX-License-Identifier: Apache-2.0

package main

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestPassedTests checks that a passed run is found again, but not after a change of the test, of its variables, of its
// inputs or of the machine's environment.
func TestPassedTests(t *testing.T) {
	machine := passedTests{directory: t.TempDir(), environment: "qemu 1"}
	test := machineTest{Name: "TestA", Variables: []string{"KINDS=vlan"}}
	run := passedDaysAgo(test.ID(), 1)
	if err := machine.add(test, run); err != nil {
		t.Fatal(err)
	}
	got, ok, err := machine.find(test, run.Inputs)
	if diff := cmp.Diff(run, got); !ok || err != nil || diff != "" {
		t.Errorf("the passed run was not found (%v, %v):\n%s", ok, err, diff)
	}
	updated := machine
	updated.environment = "qemu 2"
	for name, other := range map[string]struct {
		cache  passedTests
		test   machineTest
		inputs string
	}{
		"other inputs":      {machine, test, "def"},
		"other variables":   {machine, machineTest{Name: "TestA", Variables: []string{"KINDS=bond"}}, run.Inputs},
		"other test":        {machine, machineTest{Name: "TestB", Variables: test.Variables}, run.Inputs},
		"other environment": {updated, test, run.Inputs},
	} {
		if p, ok, err := other.cache.find(other.test, other.inputs); ok || err != nil {
			t.Errorf("%s: found %v, %v", name, p, err)
		}
	}
}
