// SPDX-License-Identifier: Apache-2.0

// Command lab boots the test machine in the lab for manual use, with one kind of uplink. It
// prints how to connect, and stops everything on Ctrl-C.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/hcp-node-agent/hcp-node-agent/test/vm"
	"github.com/hcp-node-agent/hcp-node-agent/test/vm/lab"
	"github.com/hcp-node-agent/hcp-node-agent/test/vm/uplink"
)

func main() {
	if err := run(); err != nil && !errors.Is(err, context.Canceled) {
		fmt.Fprintln(os.Stderr, "lab:", err)
		os.Exit(1)
	}
}

func run() (err error) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	repository := flag.String("repository", ".", "the repository whose image is built and booted")
	name := flag.String("kind", "", "kind of uplink; without one they are listed")
	flag.Parse()
	if *name == "" {
		for _, k := range uplink.Kinds() {
			fmt.Println(k.Name)
		}
		return nil
	}
	kinds, err := uplink.Find(*name)
	if err != nil {
		return err
	}
	kind := kinds[0]
	image, err := vm.BuildImage(ctx, *repository, os.Stderr)
	if err != nil {
		return err
	}
	l, err := lab.Open(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	// A machine that is restored from its saved state waits for an address.
	if err := l.Arrange(ctx, lab.Setup{Services: map[int]lab.Services{0: {DHCP: true}}}); err != nil {
		return err
	}
	m, err := vm.FromSnapshot(ctx, vm.Config{Image: image, NICs: l.NICs()})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, m.Close()) }()
	if err := l.Arrange(ctx, kind.Lab); err != nil {
		return err
	}
	if err := kind.Configure(ctx, m); err != nil {
		return err
	}
	fmt.Printf("%s is ready; the agent's flags: %s\ncontrol channel: %s\nconsole:         %s\nCtrl-C ends it\n",
		kind.Name, kind.Flags, m.Command(), m.Console())
	<-ctx.Done()
	return nil
}
