// SPDX-License-Identifier: Apache-2.0

// Generate writes the dashboards of the controller to a checkout.
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/hcp-node-agent/hcp-node-agent/packaging/generate/dashboard"
)

func main() {
	if err := writeDashboards("../.."); err != nil {
		fmt.Fprintln(os.Stderr, "generate:", err)
		os.Exit(1)
	}
}

// dashboards lists the rendered dashboards by their files in a checkout.
var dashboards = map[string]func() ([]byte, error){
	"deploy/monitoring/controller/dashboard.json": dashboard.Console,
	"deploy/monitoring/grafana/dashboard.json":    dashboard.Grafana,
}

func writeDashboards(checkout string) error {
	for name, render := range dashboards {
		content, err := render()
		if err != nil {
			return err
		}
		path := filepath.Join(checkout, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, content, 0o644); err != nil {
			return err
		}
	}
	return nil
}
