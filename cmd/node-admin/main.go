// SPDX-License-Identifier: Apache-2.0

// Command hcp-node-admin enrolls nodes in an OpenShift hosted cluster, approves their CSRs, shows their state, and lets
// them be upgraded.
package main

import (
	"context"
	"os"
	"path/filepath"
	_ "time/tzdata" // time zones of windows; the image of the controller has none

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
	p.Program.CommandLine = programName
	for _, arg := range args {
		p.Program.CommandLine += " " + report.ShellWord(arg)
	}
	return cli.Execute(ctx, newRootCommand(p), p, args)
}

func newPrinter(streams cli.Streams) *cli.Printer {
	return &cli.Printer{
		Streams: streams,
		Program: cli.Program{
			Name:    programName,
			Command: pluginCommand(os.Args[0]),
			Version: version,
			Verbose: "also print details",
		},
	}
}

// pluginCommand returns the command of the plugin if the program was called by a name of the plugin, and "" otherwise.
// It does not depend on whether oc or kubectl runs the plugin, which the plugin cannot find out.
func pluginCommand(called string) string {
	switch filepath.Base(called) {
	case "oc-hcp_node", "kubectl-hcp_node":
		return "oc hcp-node"
	}
	return ""
}
