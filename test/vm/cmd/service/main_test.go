// SPDX-License-Identifier: Apache-2.0

package main

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hcp-node-agent/hcp-node-agent/test/benchmarks"
)

func TestResult(t *testing.T) {
	got := toResult(resourceUse{anonymous: 9.25, mapped: 26}, 10*time.Minute, 0.2, 0.005)
	rows := [][]string{
		{"memory, MiB", "9.25"},
		{"binary in the page cache, MiB", "26"},
		{"processor time in the first 90 s, s", "0.200"},
		{"processor time per minute after that, ms", "5"},
	}
	if diff := cmp.Diff(rows, got.Tables[0].Rows); diff != "" {
		t.Errorf("table (-want +got):\n%s", diff)
	}
	compared := []benchmarks.Figure{
		{Name: rows[0][0], Value: 9.25},
		{Name: rows[1][0], Value: 26},
		{Name: rows[2][0], Value: 0.2},
		{Name: rows[3][0], Value: 5},
	}
	if diff := cmp.Diff(compared, got.Compared); diff != "" {
		t.Errorf("compared (-want +got):\n%s", diff)
	}
}
