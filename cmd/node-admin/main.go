// SPDX-License-Identifier: Apache-2.0

// Command hcp-node-admin enrolls nodes in an OpenShift hosted cluster: it creates join tokens and
// approves the CSRs of nodes.
package main

import (
	"context"

	"github.com/hcp-node-agent/hcp-node-agent/internal/cli"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

const programName = "hcp-node-admin"

// version is set by the build.
var version = "devel" //nolint:gochecknoglobals // the linker can set nothing else

func main() { cli.Main(run) }

// run executes one command line and returns the exit code.
func run(ctx context.Context, args []string, streams cli.Streams) report.Code {
	p := newPrinter(streams)
	return cli.Execute(ctx, newRootCommand(p), p, args)
}

func newPrinter(streams cli.Streams) *cli.Printer {
	return &cli.Printer{
		Streams: streams,
		Program: cli.Program{Name: programName, Version: version, Verbose: "also print details"},
	}
}

func usageError(format string, args ...any) error {
	return report.Fail(report.Usage, "", format, args...)
}
