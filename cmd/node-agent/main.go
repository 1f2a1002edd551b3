// Command hcp-node-agent joins a RHEL host to an OpenShift hosted cluster as a worker node.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	"k8s.io/klog/v2"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

func main() {
	klog.SetLogger(logr.Discard()) // client-go would write into the progress output
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	code := run(ctx, os.Args[1:], Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr})
	stop()
	os.Exit(int(code))
}

// Streams holds the standard streams.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer
}

// run executes one command line and returns the exit code.
func run(ctx context.Context, args []string, streams Streams) report.Code {
	p := &Printer{Streams: streams}
	return Execute(ctx, newRootCommand(p), p, args)
}

// Execute runs a command line below root. An error before the command itself runs
// is a usage error.
func Execute(ctx context.Context, root *cobra.Command, p *Printer, args []string) report.Code {
	root.SetArgs(append([]string{}, args...)) // with nil cobra takes os.Args
	command, err := root.ExecuteContextC(ctx)
	path := command.CommandPath()
	if err != nil && p.Sink == nil {
		fmt.Fprintf(p.Err, "%s: %v\nsee: %s --help\n", path, err, path)
		return report.Usage
	}
	p.Failure(path, err)
	return report.CodeOf(err)
}
