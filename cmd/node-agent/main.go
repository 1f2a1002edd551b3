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
	code := run(ctx, os.Args[1:], ioStreams{in: os.Stdin, out: os.Stdout, err: os.Stderr})
	stop()
	os.Exit(int(code))
}

// ioStreams holds the standard streams.
type ioStreams struct {
	in       io.Reader
	out, err io.Writer
}

// run executes one command line and returns the exit code.
func run(ctx context.Context, args []string, streams ioStreams) report.Code {
	p := &printer{ioStreams: streams}
	return execute(ctx, newRootCommand(p), p, args)
}

// execute runs a command line below root. An error before the command itself runs
// is a usage error.
func execute(ctx context.Context, root *cobra.Command, p *printer, args []string) report.Code {
	root.SetArgs(append([]string{}, args...)) // with nil cobra takes os.Args
	command, err := root.ExecuteContextC(ctx)
	path := command.CommandPath()
	if err != nil && p.sink == nil {
		fmt.Fprintf(p.err, "%s: %v\nsee: %s --help\n", path, err, path)
		return report.Usage
	}
	p.failure(path, err)
	return report.CodeOf(err)
}
