// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"testing"
)

func TestDashboardsAreCurrent(t *testing.T) {
	for name, render := range dashboards {
		want, err := render()
		if err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(filepath.Join("../..", name))
		if err != nil || string(got) != string(want) {
			t.Errorf("%s is not current (%v); run make generate", name, err)
		}
	}
}
