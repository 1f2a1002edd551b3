// SPDX-License-Identifier: Apache-2.0

package main

import (
	"github.com/spf13/cobra"

	"github.com/hcp-node-agent/hcp-node-agent/internal/cli"
	"github.com/hcp-node-agent/hcp-node-agent/internal/doctor"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

const doctorHelp = `Doctor examines a host before, during or after a join and changes nothing. It
runs the checks of preflight, those that need the payload if one is stored, and
checks the state, services, br-ex, drift, certificates, CSRs and Node of a
join. Facts that are not readable without root are reported. Each finding has
the next command.

The exit code is 0 without problems (warnings are none), 1 if a problem affects
the node now, 3 if a check would refuse a join, and 2 for usage errors.`

func newDoctorCommand(p *cli.Printer) *cobra.Command {
	c := &cobra.Command{
		Use:   "doctor",
		Short: "Diagnose this host and its node, without changing anything",
		Long:  doctorHelp,
		Example: "  hcp-node-agent doctor\n" +
			"  hcp-node-agent doctor --output json # for a support case",
		Args: cli.NoArgs,
	}
	file := settingFlags(c, userDataSettings...)
	c.RunE = func(c *cobra.Command, _ []string) error {
		options, err := optionsFrom(c, *file, p)
		if err != nil {
			return err
		}
		document, err := doctor.Run(c.Context(), options)
		if err != nil {
			document.CommandResult = report.ResultOf(err)
		}
		if writeErr := p.Document(document, document.Print); writeErr != nil && err == nil {
			err = writeErr
		}
		if err == nil {
			err = document.Err()
			p.StepReported = true // printed as part of the findings
		}
		return err
	}
	return c
}
