// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"

	"github.com/spf13/cobra"

	"github.com/hcp-node-agent/hcp-node-agent/internal/cli"
	"github.com/hcp-node-agent/hcp-node-agent/internal/doctor"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/request"
)

const doctorHelp = `Doctor examines a host before, during or after a join and changes nothing. It
runs the checks of preflight, those that need the payload if one is stored, and
checks the state, services, br-ex, drift, certificates, CSRs and Node of a
join. Facts that are not readable without root are reported. Each finding has
the next command, but those that another finding explains: they follow it as its
effects.

The exit code is 0 without problems (warnings are none), 1 if a problem affects
the node now, 3 if a check would refuse a join, and 2 for usage errors.`

func newDoctorCommand(p *cli.Printer) *cobra.Command {
	c := &cobra.Command{
		Use:         "doctor",
		Annotations: cli.ExitsWith(report.Refused, report.CredentialRefused, report.Interrupted),
		Short:       "Diagnose this host and its node, without changing anything",
		Long:        doctorHelp,
		Example: "  hcp-node-agent doctor\n" +
			"  hcp-node-agent doctor --output json # for a support case",
		Args: cli.NoArgs,
	}
	file := settingFlags(c, userDataSettings...)
	c.RunE = withOptions(p, file, func(ctx context.Context, options request.Options) error {
		document, err := doctor.Run(ctx, options)
		if err != nil {
			document.CommandResult = report.ResultOf(err)
		}
		if err = cmp.Or(err, p.Document(document, document.Print)); err != nil {
			return err
		}
		p.StepReported = true // printed as part of the findings
		return document.Err()
	})
	return c
}
