// SPDX-License-Identifier: Apache-2.0

// Command bootc stands in for bootc, and for rpm-ostree if it is called by that name.
package main

import (
	"context"
	"os"
	"path/filepath"

	"github.com/hcp-node-agent/hcp-node-agent/test/ostree"
)

func main() {
	os.Exit(ostree.Run(context.Background(), filepath.Base(os.Args[0]), os.Args[1:]))
}
