package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/pflag"

	"github.com/hcp-node-agent/hcp-node-agent/internal/bootstrap"
	"github.com/hcp-node-agent/hcp-node-agent/internal/config"
	"github.com/hcp-node-agent/hcp-node-agent/internal/manual"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

type joinDocument struct {
	report.TypeMeta
	Headline string              `json:"headline,omitempty"`
	Changed  bool                `json:"changed"` // false: all was as it should be
	Steps    []report.StepResult `json:"steps"`
	result
}

func joinVerb() verb {
	return verb{
		name: "join",
		does: "make this host a worker of the cluster; run it again to go on after a stop",
		more: "steps:\n" + steps(),
		prepare: func(flags *pflag.FlagSet) action {
			file := settingFlags(flags)
			resume := flags.Bool("resume", false, "go on with an unfinished join, as the unit does at boot; nothing is asked for again")
			only := flags.StringSlice("only", nil, "run these `STEPS` alone, on a host that has joined or not: network needs no stub")
			manual.Choices(flags, "only", stepNames(func(s bootstrap.Step) bool { return s.Alone })...)
			return func(ctx context.Context, flags *pflag.FlagSet, face *face) error {
				options, err := optionsFrom(flags, *file, face)
				if err != nil {
					return err
				}
				options.Resume = *resume
				changed, err := runJoin(ctx, options, *only)
				face.told = err != nil && stepFailed(face.recorder)
				if !face.json {
					return err
				}
				document := joinDocument{
					TypeMeta: report.Meta("JoinResult"), Headline: face.recorder.Headline,
					Changed: changed, Steps: append([]report.StepResult{}, face.recorder.Steps...), result: resultOf(err),
				}
				if writeErr := face.document(document, nil); writeErr != nil && err == nil {
					err = writeErr
				}
				return err
			}
		},
	}
}

func runJoin(ctx context.Context, options bootstrap.Options, only []string) (bool, error) {
	if len(only) > 0 {
		return bootstrap.Only(ctx, options, only)
	}
	return bootstrap.Join(ctx, options)
}

// stepFailed tells whether the last step's failure was shown already.
func stepFailed(r *report.Recorder) bool {
	return len(r.Steps) > 0 && r.Steps[len(r.Steps)-1].Result == report.StepFailed
}

func steps() string {
	var out strings.Builder
	for _, step := range bootstrap.Steps() {
		fmt.Fprintf(&out, "  %-12s %s\n", step.Name, step.Does)
	}
	return out.String()
}

// settingFlags binds the settings of a join, and where its file is.
func settingFlags(flags *pflag.FlagSet) *string {
	defaults := config.Defaults()
	config.Flags(flags, &defaults)
	settingChoices(flags)
	return flags.String("config", config.DefaultFile, "configuration `FILE`; drop-ins are in config.d beside it")
}

func optionsFrom(flags *pflag.FlagSet, file string, face *face) (bootstrap.Options, error) {
	from := source(flags, file)
	from.Check = nil // the join itself says what cannot be skipped, and why
	join, err := config.Load(from)
	if err != nil {
		return bootstrap.Options{}, err
	}
	return bootstrap.Options{Config: join, StateDir: bootstrap.StateDir, Sink: face.sink, Stdin: face.in}, nil
}

// outcome is a document that decides how its verb ends.
type outcome interface {
	// Err returns the failure that the document amounts to, nil if there is none.
	Err() error
}

// verbWithDocument returns a verb that takes a join's settings and ends with one
// document. do fails only if it has no complete document; a failure that the
// document itself amounts to follows the document in text, too.
func verbWithDocument[D outcome](
	name, does string, do func(context.Context, bootstrap.Options) (D, error), say func(io.Writer, D),
) verb {
	return verb{
		name: name, does: does,
		prepare: func(flags *pflag.FlagSet) action {
			file := settingFlags(flags)
			return func(ctx context.Context, flags *pflag.FlagSet, face *face) error {
				options, err := optionsFrom(flags, *file, face)
				if err != nil {
					return err
				}
				document, err := do(ctx, options)
				face.told = err != nil && stepFailed(face.recorder)
				if err != nil && !face.json {
					return err
				}
				if err == nil {
					err = document.Err()
				}
				writeErr := face.document(ended[D]{document, resultOf(err)}, func(w io.Writer) { say(w, document) })
				if writeErr != nil && err == nil {
					err = writeErr
				}
				return err
			}
		},
	}
}
