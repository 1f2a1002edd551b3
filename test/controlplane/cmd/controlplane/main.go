// SPDX-License-Identifier: Apache-2.0

// Command controlplane runs a miniature hosted control plane until it is stopped, and prints one
// JSON document when every component is ready.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/test/controlplane/internal/hosted"
)

// startTimeout is many times the duration of a start on a slow machine.
const startTimeout = 9 * time.Minute

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "controlplane:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	flags := flag.NewFlagSet("controlplane", flag.ContinueOnError)
	var options hosted.Options
	flags.StringVar(&options.Dir, "dir", "", "directory for logs and state")
	flags.StringVar(&options.Bin, "bin", "", "directory with the binaries, as printed by build.sh")
	flags.StringVar(&options.Name, "name", "demo", "name of the hosted cluster")
	flags.StringVar(&options.Stack, "stack", "ipv4", "address families: ipv4, ipv6, or dual-ipv6")
	parent := flags.Int("parent-pid", 0, "stop when this process ends")
	stdin := flags.Bool("until-stdin-closes", false, "stop when standard input ends")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if options.Dir == "" || options.Bin == "" {
		return errors.New("--dir and --bin are required")
	}
	ctx, cancel := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	defer cancel()
	// When the parent process exits, standard output is closed. The default action of SIGPIPE
	// would end this process without cleanup.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	if *stdin {
		go func() { defer cancel(); discardUntilEOF(os.Stdin) }()
	}
	if *parent != 0 {
		if err := onProcessExit(*parent, cancel); err != nil {
			return err
		}
	}
	return serve(ctx, options)
}

func serve(ctx context.Context, options hosted.Options) error {
	starting, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	control, err := hosted.Start(starting, options)
	if err != nil {
		if ctx.Err() != nil {
			return fmt.Errorf("stopped while starting: %w", err)
		}
		return err
	}
	document, err := json.MarshalIndent(control.Document(), "", "  ")
	if err == nil {
		_, err = fmt.Println(string(document))
	}
	if err == nil {
		select {
		case <-ctx.Done():
		case err = <-control.Failed():
		}
	}
	return errors.Join(err, control.Stop())
}
