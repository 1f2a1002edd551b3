// SPDX-License-Identifier: Apache-2.0

// Command network stands in for the pods that a cluster's network operator runs on a node: it
// writes a CNI configuration and removes it on SIGTERM.
//
// Usage: network DIRECTORY
package main

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
)

// conflist attaches pods to a bridge with an address range of its own. The same range on every
// node is enough, because no traffic goes between nodes.
const conflist = `{
  "cniVersion": "1.0.0",
  "name": "bed",
  "plugins": [
    {
      "type": "bridge",
      "bridge": "cni0",
      "isGateway": true,
      "ipMasq": true,
      "hairpinMode": true,
      "ipam": {
        "type": "host-local",
        "ranges": [[{"subnet": "10.85.0.0/24"}]],
        "routes": [{"dst": "0.0.0.0/0"}]
      }
    }
  ]
}
`

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "network:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 1 {
		return errors.New("usage: network DIRECTORY")
	}
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGINT, syscall.SIGTERM)
	path := filepath.Join(args[0], "10-bed.conflist")
	// CRI-O watches the directory, so the file must appear complete.
	temporary := filepath.Join(args[0], ".10-bed.conflist.new")
	if err := os.WriteFile(temporary, []byte(conflist), 0o600); err != nil {
		return fmt.Errorf("writing the CNI configuration: %w", err)
	}
	if err := os.Rename(temporary, path); err != nil {
		return fmt.Errorf("putting the CNI configuration in place: %w", err)
	}
	fmt.Println("wrote", path)
	<-stop
	if err := os.Remove(path); err != nil {
		return fmt.Errorf("removing the CNI configuration: %w", err)
	}
	fmt.Println("removed", path)
	return nil
}
