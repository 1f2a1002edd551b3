// SPDX-License-Identifier: Apache-2.0

// Command bootc stands in for bootc, and for rpm-ostree or podman if it is called by that name.
package main

import (
	"context"
	"os"
	"path/filepath"

	"github.com/hcp-node-agent/hcp-node-agent/test/ostree"
)

func main() {
	name := filepath.Base(os.Args[0])
	if name == "podman" {
		os.Exit(ostree.RunPodman(context.Background(), os.Args[1:]))
	}
	os.Exit(ostree.Run(context.Background(), name, os.Args[1:]))
}
