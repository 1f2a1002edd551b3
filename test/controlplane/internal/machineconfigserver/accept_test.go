// SPDX-License-Identifier: Apache-2.0

package machineconfigserver

import "testing"

func TestNegotiate(t *testing.T) {
	const ignition = "application/vnd.coreos.ignition+json;version="
	for name, test := range map[string]struct {
		accept string
		want   spec
		ok     bool
	}{
		"none":                   {"", spec{2, 2}, true},
		"curl":                   {"*/*", spec{2, 2}, true},
		"no media type":          {"nonsense", spec{2, 2}, true},
		"without a version":      {"application/vnd.coreos.ignition+json", spec{2, 2}, true},
		"a version that is none": {ignition + "3.2", spec{2, 2}, true},
		"Ignition 2":             {ignition + "3.2.0, */*;q=0.1", spec{3, 2}, true},
		"with spaces": {
			"application/vnd.coreos.ignition+json; version=3.3.0 , */*; q=0.1", spec{3, 3}, true,
		},
		"the oldest":            {ignition + "3.1.0", spec{3, 1}, true},
		"the newest":            {ignition + "3.4.0", spec{3, 4}, true},
		"newer than the server": {ignition + "3.6.0, */*;q=0.1", spec{3, 4}, true},
		"Ignition 0": {
			ignition + "2.4.0, application/vnd.coreos.ignition+json; version=1; q=0.5, */*; q=0.1", spec{2, 2}, true,
		},
		"older than 3.1": {ignition + "3.0.0, */*;q=0.1", spec{2, 2}, false},
		"older than 2.2": {ignition + "2.1.0", spec{2, 2}, false},
		"spec 4":         {ignition + "4.0.0", spec{2, 2}, false},
		"the preferred version that it supports": {
			ignition + "4.0.0," + ignition + "2.2.0;q=0.2," + ignition + "3.1.0;q=0.5", spec{3, 1}, true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			if got, ok := negotiate(test.accept); got != test.want || ok != test.ok {
				t.Errorf("%q chooses %v, %t; want %v, %t", test.accept, got, ok, test.want, test.ok)
			}
		})
	}
}
