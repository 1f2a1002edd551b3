// SPDX-License-Identifier: Apache-2.0

// Command machine boots the test machine for manual use, prints how to connect, and stops it on
// Ctrl-C. Without -namespace it creates a network for the machine.
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
)

func main() {
	if err := run(); err != nil && !errors.Is(err, context.Canceled) {
		fmt.Fprintln(os.Stderr, "machine:", err)
		os.Exit(1)
	}
}

func run() error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	var cfg vm.Config
	fresh := flag.Bool("fresh", false, "boot instead of loading the state of a booted machine")
	repository := flag.String("repository", ".", "the repository whose image is built and booted")
	class := flag.String("ostree", "", "boot from an OSTree deployment: bootc for RHEL bootc, coreos for RHCOS")
	flag.StringVar(&cfg.Name, "name", "worker-0", "name and host name")
	flag.StringVar(&cfg.Dir, "dir", "", "directory for the disk and the logs (default: a temporary directory)")
	flag.StringVar(&cfg.Network.Namespace, "namespace", "", "path of the network namespace to plug the uplink into")
	flag.StringVar(&cfg.Network.Bridge, "bridge", "", "bridge in it")
	flag.Parse()

	var err error
	if *class == "" {
		cfg.Image, err = vm.BuildImage(ctx, *repository, os.Stderr)
	} else {
		cfg.Image, err = vm.BuildOSTreeImage(ctx, *repository, vm.Class(*class), os.Stderr)
	}
	if err != nil {
		return err
	}
	if cfg.Network.Namespace == "" {
		lan, err := vm.NewLAN(ctx)
		if err != nil {
			return err
		}
		defer lan.Close()
		cfg.Network = lan.Network
	}
	start := vm.FromSnapshot
	if *fresh {
		start = vm.Start
	}
	m, err := start(ctx, cfg)
	if err != nil {
		return err
	}
	defer m.Close()
	if _, err := m.WaitBoot(ctx); err != nil {
		return err
	}
	uplink, err := m.Uplink(ctx)
	if err != nil {
		return err
	}
	fmt.Printf("control channel: %s\nuplink:          %s\nconsole:         %s\nCtrl-C ends it\n",
		m.Command(), uplink.Command(), m.Console())
	<-ctx.Done()
	return nil
}
