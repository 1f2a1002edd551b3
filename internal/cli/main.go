// SPDX-License-Identifier: Apache-2.0

// Package cli contains the parts of the command line that hcp-node-agent and hcp-node-admin share:
// output, common flags, help, completions, exit codes and generated documentation.
package cli

import (
	"cmp"
	"context"
	"io"
	"os"
	"os/signal"
	"regexp"
	"strings"
	"syscall"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	"k8s.io/klog/v2"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// Program identifies a binary.
type Program struct {
	Name    string
	Command string // how the program was called, if not by its name: "oc hcp-node"
	Version string
	Verbose string // usage of --verbose

	CommandLine   string                            // of this run, as valid shell
	SelectCluster func(report.Remedy) report.Remedy // adds the flags of this run to commands; nil for none
}

// command returns the words with which users call the program.
func (p Program) command() string { return cmp.Or(p.Command, p.Name) }

// Rename returns text in which command lines of the program begin with the words with which users call it.
func (p Program) Rename(text string) string {
	return strings.ReplaceAll(text, p.Name+" ", p.command()+" ")
}

// Remedy returns a remedy as users of this run can paste it: for the same cluster, with the words with which they call
// the program.
func (p Program) Remedy(remedy report.Remedy) report.Remedy {
	if p.SelectCluster != nil {
		remedy = p.SelectCluster(remedy)
	}
	return report.Remedy(p.Rename(string(remedy)))
}

// Streams holds the standard streams.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer
}

// RunFunc executes one command line and returns the exit code.
type RunFunc func(ctx context.Context, args []string, streams Streams) report.Code

// Main runs the process's command line and exits. Signals that request termination end the
// context of run.
func Main(run RunFunc) {
	klog.SetLogger(logr.Discard()) // client-go would write into the progress output
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	code := run(ctx, os.Args[1:], Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr})
	stop()
	os.Exit(int(code))
}

// jsonOutput matches the flag that requests JSON among the arguments of a command line.
var jsonOutput = regexp.MustCompile(`(^|\n)(-o\n?|-o=|--output[\n=])json(\n|$)`)

// requestsJSON reports whether a command line requests JSON, even if it is not valid.
func requestsJSON(args []string) bool { return jsonOutput.MatchString(strings.Join(args, "\n")) }

// Execute runs a command line below root. An error before the command itself runs
// is a usage error.
func Execute(ctx context.Context, root *cobra.Command, p *Printer, args []string) report.Code {
	root.SetArgs(append([]string{}, args...)) // with nil cobra takes os.Args
	command, err := root.ExecuteContextC(ctx)
	if err != nil && p.Sink == nil { // the command line is not valid
		p.JSON = requestsJSON(args)
		err = report.Fail(report.Usage, report.RemedyOf(err), "%w", explainFlags(err))
	}
	p.Failure(command.CommandPath(), err)
	return report.CodeOf(err)
}
