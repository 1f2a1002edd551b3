// SPDX-License-Identifier: Apache-2.0

// Command hcp-node-agent joins a RHEL host to an OpenShift hosted cluster as a worker node.
package main

import (
	"context"

	"github.com/hcp-node-agent/hcp-node-agent/internal/cli"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

const programName = "hcp-node-agent"

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
		Program: cli.Program{Name: programName, Version: version, Verbose: "also log every change made to the host"},
	}
}
