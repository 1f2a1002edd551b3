// SPDX-License-Identifier: Apache-2.0

// Mortal attaches the uplink to br-ex as `hcp-node-agent join --only network` does, or with
// --leave reverts this as `hcp-node-agent leave` does. It kills itself with SIGKILL when it
// reports a given text, before the step that the text announces begins. A signal from another
// process would always arrive too late. With --run it runs a command instead of killing itself, and with --interrupt it
// interrupts itself, as with Ctrl-C. Without a text, it prints all reported texts.
package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/pflag"

	"github.com/hcp-node-agent/hcp-node-agent/internal/bootstrap"
	"github.com/hcp-node-agent/hcp-node-agent/internal/config"
	"github.com/hcp-node-agent/hcp-node-agent/internal/joinstate"
	"github.com/hcp-node-agent/hcp-node-agent/internal/leave"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/request"
)

// faultSink is a sink of events that runs command, or interrupts or kills the process, when at is reported.
type faultSink struct {
	at, command string
	interrupts  bool
	interrupted <-chan struct{} // closed when the process has handled the signal
}

func (m faultSink) Emit(event report.Event) {
	fmt.Printf("%s\t%s\n", event.Kind, event.Message)
	if m.at == "" || event.Kind != report.Waiting || !strings.Contains(event.Message, m.at) {
		return
	}
	switch {
	case m.interrupts:
		_ = syscall.Kill(os.Getpid(), syscall.SIGINT)
		<-m.interrupted
		return
	case m.command == "":
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	}
	if output, err := exec.Command("/bin/sh", "-c", m.command).CombinedOutput(); err != nil {
		fmt.Printf("run\t%s: %v: %s\n", m.command, err, output)
	}
}

func main() {
	flags := pflag.NewFlagSet("mortal", pflag.ContinueOnError)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	of := faultSink{interrupted: ctx.Done()}
	flags.StringVar(&of.at, "at", "", "exit when `TEXT` is printed")
	flags.StringVar(&of.command, "run", "", "run `COMMAND` instead of exiting, and continue")
	flags.BoolVar(&of.interrupts, "interrupt", false, "interrupt the migration instead of exiting")
	leaves := flags.Bool("leave", false, "give the uplink back")
	defaults := config.Defaults()
	flags.AddFlagSet(config.FlagSet(&defaults))
	err := flags.Parse(os.Args[1:])
	switch {
	case err != nil:
	case *leaves:
		_, err = leave.Run(ctx, leave.Options{Options: request.Options{StateDir: joinstate.Dir, Sink: of}})
	default:
		err = migrate(ctx, flags, of)
	}
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	os.Exit(int(report.CodeOf(err)))
}

func migrate(ctx context.Context, flags *pflag.FlagSet, of faultSink) error {
	join, err := config.Load(config.Source{File: config.DefaultFile, Environment: os.Environ(), Flags: flags})
	if err != nil {
		return err
	}
	_, err = bootstrap.RunOnly(ctx, request.Options{
		Config: join, Only: []string{"network"}, StateDir: joinstate.Dir, Sink: of,
	})
	return err
}
