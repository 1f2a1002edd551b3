// Command hcp-node-agent turns a plain RHEL machine into a worker of an
// OpenShift Hosted Control Plane cluster.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/go-logr/logr"
	"github.com/spf13/pflag"
	"k8s.io/klog/v2"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

func main() {
	klog.SetLogger(logr.Discard()) // client-go would write into the middle of the story
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	code := run(ctx, os.Args[1:], console{in: os.Stdin, out: os.Stdout, err: os.Stderr})
	stop()
	os.Exit(int(code))
}

// console is what a person or a program in front of the agent gives and sees.
type console struct {
	in       io.Reader
	out, err io.Writer
}

// run runs the verb that args name and gives the exit code.
func run(ctx context.Context, args []string, io console) report.Code {
	name := "help"
	if len(args) > 0 {
		name, args = split(args)
	}
	if name == "help" || name == "--help" || name == "-h" {
		usage(io.out)
		return report.Done
	}
	if name == "--version" {
		name = "version"
	}
	verb, known := find(name)
	if more := under(name); !known && len(more) > 0 {
		return half(io, name, args, more)
	}
	if !known {
		fmt.Fprintf(io.err, "hcp-node-agent: there is no verb %q\nsee: hcp-node-agent help\n", name)
		return report.Usage
	}
	flags, common, do := verb.flags()
	flags.SetOutput(io.err)
	flags.Usage = func() {}
	err := flags.Parse(args)
	if errors.Is(err, pflag.ErrHelp) {
		verb.usage(io.out, flags)
		return report.Done
	}
	if err == nil {
		err = errors.Join(verb.fits(flags), common.check())
	}
	if err != nil {
		fmt.Fprintf(io.err, "hcp-node-agent %s: %v\nsee: hcp-node-agent %s --help\n", name, err, name)
		return report.Usage
	}
	face := newFace(io, *common)
	err = do(ctx, flags, face)
	face.failure(name, err)
	return report.CodeOf(err)
}

// half is for the first word of verbs that have two.
func half(io console, name string, args []string, verbs []verb) report.Code {
	if len(args) > 0 && (args[0] == "--help" || args[0] == "-h") {
		list(io.out, verbs)
		return report.Done
	}
	fmt.Fprintf(io.err, "hcp-node-agent: %q needs another word:\n", name)
	list(io.err, verbs)
	return report.Usage
}
