// SPDX-License-Identifier: Apache-2.0

// Command render writes docs/benchmarks.md and its charts from the saved results.
//
// Usage: go run ./test/benchmarks/render, in the root of the repository
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/hcp-node-agent/hcp-node-agent/test/benchmarks"
)

func main() {
	if err := render("docs"); err != nil {
		fmt.Fprintln(os.Stderr, "render:", err)
		os.Exit(1)
	}
}

func render(docs string) error {
	results, err := benchmarks.Load(docs)
	if err != nil {
		return err
	}
	for path, content := range benchmarks.Render(results) {
		path = filepath.Join(docs, path)
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil { //nolint:gosec // a file of the repository
			return err
		}
	}
	return nil
}
