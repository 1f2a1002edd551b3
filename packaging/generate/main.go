// SPDX-License-Identifier: Apache-2.0

// Generate writes the dashboards of the controller to the checkout, or, with a directory and a version, the Helm chart
// and the OLM bundle of a release to the directory. It runs in its own directory.
package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/hcp-node-agent/hcp-node-agent/packaging/generate/dashboard"
)

// checkout is the root of the repository.
const checkout = "../.."

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "generate:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	switch len(args) {
	case 0:
		return writeDashboards()
	case 2:
		return writeRelease(args[0], args[1])
	}
	return errors.New("usage: generate [DIRECTORY VERSION]")
}

// dashboards lists the rendered dashboards by their files in a checkout.
var dashboards = map[string]func() ([]byte, error){
	"deploy/monitoring/controller/dashboard.json": dashboard.Console,
	"deploy/monitoring/grafana/dashboard.json":    dashboard.Grafana,
}

func writeDashboards() error {
	files := map[string][]byte{}
	for name, render := range dashboards {
		content, err := render()
		if err != nil {
			return err
		}
		files[name] = content
	}
	return write(checkout, files)
}

// writeRelease writes DIRECTORY/chart/hcp-node-admin and DIRECTORY/bundle.
func writeRelease(directory, version string) error {
	files, err := chart(version)
	if err != nil {
		return fmt.Errorf("the chart: %w", err)
	}
	if err := write(filepath.Join(directory, "chart", packageName), files); err != nil {
		return err
	}
	if files, err = bundle(version, "registry.example.com/hcp-node-admin:"+version); err != nil {
		return fmt.Errorf("the bundle: %w", err)
	}
	return write(filepath.Join(directory, "bundle"), files)
}

func write(directory string, files map[string][]byte) error {
	for name, content := range files {
		path := filepath.Join(directory, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil { //nolint:gosec // generated files are public
			return err
		}
		if err := os.WriteFile(path, content, 0o644); err != nil { //nolint:gosec // generated files are public
			return err
		}
	}
	return nil
}
