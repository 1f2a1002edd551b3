package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/hcp-node-agent/hcp-node-agent/internal/cli"
	"github.com/hcp-node-agent/hcp-node-agent/internal/joinstate"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/status"
)

func newStatusCommand(p *cli.Printer) *cobra.Command {
	c := &cobra.Command{
		Use:   "status",
		Short: "Print the state of the node and its drift since the join",
		Args:  cobra.NoArgs,
	}
	c.RunE = func(c *cobra.Command, _ []string) error { return showStatus(c.Context(), p, joinstate.Dir) }
	return c
}

func showStatus(ctx context.Context, p *cli.Printer, stateDir string) error {
	document, err := status.Get(ctx, stateDir)
	if err != nil {
		return err
	}
	if err := p.Document(document, func(w io.Writer) { printStatus(w, document) }); err != nil {
		return err
	}
	return document.Err()
}

// describePool returns the name of the pool that a node's configuration is from. A standalone
// cluster's pools have no name in the agent's inputs.
func describePool(join status.Join) string {
	if join.NodePool == "" {
		return "the workers"
	}
	return "NodePool " + join.NodePool
}

func printStatus(w io.Writer, document status.Document) {
	var join status.Join
	if document.Join != nil {
		join = *document.Join
	}
	switch document.Phase {
	case joinstate.PhaseNone, joinstate.PhaseUnknown:
		fmt.Fprintln(w, "this host has not joined a cluster with hcp-node-agent")
	case joinstate.PhaseJoining:
		fmt.Fprintf(w, "%s is joining %s since %s; the last completed step is %q\n",
			nodeNameOrHost(join.NodeName), describePool(join), report.Timestamp(join.Started), join.LastStep)
	case joinstate.PhaseLeaving:
		fmt.Fprintf(w, "%s is leaving %s since %s; to resume: hcp-node-agent leave\n",
			nodeNameOrHost(join.NodeName), describePool(join), report.Timestamp(join.Leaving))
	case joinstate.PhaseJoined:
		fmt.Fprintf(w, "%s joined %s of %s at %s\n",
			nodeNameOrHost(join.NodeName), describePool(join), join.APIServer, report.Timestamp(join.Finished))
	}
	for _, unit := range []string{"NetworkManager.service", "openvswitch.service", "crio.service", "kubelet.service"} {
		if s, known := document.Units[unit]; known {
			fmt.Fprintf(w, "  %-24s %s\n", unit, describeUnit(s.Load, s.Active, s.File))
		}
	}
	if unit := status.NodeIPUnit; document.Units[unit].Active == "failed" {
		fmt.Fprintf(w, "  %s failed: kubelet uses the address of an earlier boot; see: journalctl -b -u %s\n", unit, unit)
	}
	if bridge := document.Bridge; bridge != nil {
		fmt.Fprintf(w, "  %-24s %s\n", "br-ex", bridge)
		for _, line := range bridge.Details() {
			fmt.Fprintf(w, "  %-24s %s\n", "", line)
		}
	}
	if node := document.Node; node != nil {
		fmt.Fprintf(w, "  %-24s %s\n", "Node", node)
	}
	fmt.Fprintf(w, "  %-24s %d\n", "changes on this host", document.Changes)
	if len(document.Drift) > 0 {
		fmt.Fprintf(w, "  %-24s %d\n", "drift", len(document.Drift))
	}
	for _, drift := range document.Drift {
		fmt.Fprintf(w, "    %s %s\n      expected: %s\n      current:  %s\n", drift.Kind, report.EscapeLine(drift.Target), drift.Desired, drift.Now)
	}
	for _, trouble := range document.Errors {
		fmt.Fprintf(w, "  unknown: %s\n", trouble)
	}
}

func nodeNameOrHost(name string) string {
	if name == "" {
		return "this host"
	}
	return name
}

func describeUnit(load, active, file string) string {
	if load == "not-found" {
		return "not installed"
	}
	if file == "" {
		return active
	}
	return active + ", " + file
}
