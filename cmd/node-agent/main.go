// SPDX-License-Identifier: Apache-2.0

// Command hcp-node-agent joins a RHEL host to an OpenShift hosted cluster as a worker node.
package main

import (
	"context"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"github.com/hcp-node-agent/hcp-node-agent/internal/cli"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

const programName = "hcp-node-agent"

// version is set by the build.
var version = "devel" //nolint:gochecknoglobals // the linker can set nothing else

func main() { cli.Main(run) }

// run executes one command line and returns the exit code.
func run(ctx context.Context, args []string, streams cli.Streams) report.Code {
	// Hardened shells and units have 077, with which other users cannot read what commands of the host write. The agent
	// sets the modes of its private files.
	unix.Umask(0o022)
	p := newPrinter(streams)
	return cli.Execute(ctx, newRootCommand(p), p, args)
}

func newPrinter(streams cli.Streams) *cli.Printer {
	return &cli.Printer{
		Streams: streams,
		Program: cli.Program{Name: programName, Version: version, Verbose: "also log every change made to the host"},
	}
}

// newRootCommand returns the root command with all subcommands. Their output goes through p.
func newRootCommand(p *cli.Printer) *cobra.Command {
	const otherGroup = "other"
	root := cli.NewRootCommand(p, "Turn a RHEL machine into a worker of a Hosted Control Plane cluster",
		`hcp-node-agent turns a RHEL machine into a worker of an OpenShift Hosted
Control Plane (HyperShift) cluster, NodePool platform None, from the NodePool's
user data. A join can be stopped, killed or interrupted by a reboot at any time:
the same command resumes it. Every change to the host is recorded first, and
leave reverts them all.`,
		"  hcp-node-agent join --user-data user-data.ign")
	cli.AddGroup(root, "node", "Node commands:",
		newJoinCommand(p), newPlanCommand(p), newUpgradeCommand(p), newMaintenanceCommand(p), newPreflightCommand(p),
		newStatusCommand(p), newDoctorCommand(p), newLeaveCommand(p), newRunCommand(p), newNodeIPCommand(p),
		newUplinkNameCommand(p))
	cli.AddGroup(root, "image", "Image commands:", newApplyCommand(p))
	cli.AddGroup(root, otherGroup, "Other commands:",
		cli.NewParentCommand("config", "Print and validate the configuration",
			newConfigShowCommand(p), newConfigValidateCommand(p)),
		cli.NewVersionCommand(p), cli.NewDocsCommand(p, docs))
	cli.CompleteRoot(root, p, otherGroup, map[string]cobra.CompletionFunc{"INTERFACE": completeInterfaces})
	return root
}
