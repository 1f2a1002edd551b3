// SPDX-License-Identifier: Apache-2.0

// Command coredns is CoreDNS with the plugins that a cluster needs, instead of all of them.
package main

import (
	"github.com/coredns/coredns/coremain"
	_ "github.com/coredns/coredns/plugin/bind"
	_ "github.com/coredns/coredns/plugin/errors"
	_ "github.com/coredns/coredns/plugin/kubernetes"
)

func main() { coremain.Run() }
