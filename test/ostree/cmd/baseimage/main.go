// SPDX-License-Identifier: Apache-2.0

// Command baseimage prints what the commit of the machine's first deployment contains of its image, for
// test/image/ostree: three lines with the digest, the ref of the layer and the config. It takes the id of
// the image.
package main

import (
	"fmt"
	"os"

	"github.com/hcp-node-agent/hcp-node-agent/test/ostree"
)

func main() {
	if err := ostree.PrintBase(os.Stdout, os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "baseimage:", err)
		os.Exit(1)
	}
}
