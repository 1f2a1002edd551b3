package main

import (
	"context"

	"github.com/spf13/pflag"

	"github.com/hcp-node-agent/hcp-node-agent/internal/bootstrap"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// doctorHelp is more about the verb.
const doctorHelp = `
It examines a host that has not joined, is half joined or has joined, and changes
nothing: the checks of preflight, those that need the payload where one was kept,
and of a join its state, services, br-ex, drift, certificates, request and Node.
What cannot be seen without root is said. Each finding has the next command.

--bundle makes a file for a support case: findings, journals, units, network,
certificates without keys, Node and CSRs. Secrets in it are masked.

exit code: 0 all is well, or there are only warnings; 1 a problem hinders the node
now; 3 a check refuses what a join would need; 2 usage, and FILE is there already
`

type doctorDocument struct {
	bootstrap.DoctorReport
	Error  string        `json:"error,omitempty"` // why the examination, or its bundle, could not be finished
	Remedy report.Remedy `json:"remedy,omitempty"`
}

func doctorVerb() verb {
	return verb{
		name: "doctor", does: "tell what is wrong with this host or its node, and what to do; nothing is changed", more: doctorHelp,
		prepare: func(flags *pflag.FlagSet) action {
			file := settingFlags(flags)
			bundle := flags.String("bundle", "", "also gather all that a support case needs into `FILE` (.tar.gz), secrets masked")
			return func(ctx context.Context, flags *pflag.FlagSet, face *face) error {
				options, err := optionsFrom(flags, *file, face)
				if err != nil {
					return err
				}
				document, err := bootstrap.Doctor(ctx, bootstrap.DoctorOptions{Options: options, Bundle: *bundle, Version: version})
				shown := doctorDocument{document, "", ""}
				if err != nil {
					shown = doctorDocument{document, err.Error(), report.Remedy(report.RemedyOf(err))}
					shown.ExitCode = report.CodeOf(err)
				}
				if len(document.Findings) > 0 || face.json {
					if writeErr := face.document(shown, document.Print); writeErr != nil && err == nil {
						err = writeErr
					}
				}
				if err == nil {
					err = document.Err()
					face.told = true // the findings say it
				}
				return err
			}
		},
	}
}
