package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/spf13/pflag"

	"github.com/hcp-node-agent/hcp-node-agent/internal/bootstrap"
	"github.com/hcp-node-agent/hcp-node-agent/internal/config"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

type configDocument struct {
	report.TypeMeta
	Files    []string         `json:"files"` // that were read, each winning over those before it
	Settings []config.Setting `json:"settings,omitempty"`
	Problems []config.Problem `json:"problems"`
	result
}

func newConfigDocument(kind string) configDocument {
	return configDocument{TypeMeta: report.Meta(kind), Files: []string{}, Settings: []config.Setting{}, Problems: []config.Problem{}}
}

func configShowVerb() verb {
	return verb{
		name: "config show",
		does: "tell each setting of a join on this host, and where it comes from",
		more: `
Settings come from defaults, the file, its drop-ins in the order of their names, the environment, and flags, each winning over those
before it; a list is taken as a whole. A ticket adds its labels and taints. Secrets in URLs are masked; other secrets are in files
that settings only name.`,
		prepare: func(flags *pflag.FlagSet) action {
			file := settingFlags(flags)
			return func(_ context.Context, flags *pflag.FlagSet, face *face) error {
				e := config.Explain(source(flags, *file))
				document := newConfigDocument("Config")
				document.take(e)
				if len(e.Problems) == 0 {
					document.ticket(e.Join, face.in)
				}
				return face.configuration(document, sayConfig)
			}
		},
	}
}

func configValidateVerb() verb {
	return verb{
		name: "config validate", takes: "[FILE...]",
		does: "tell all that is wrong with the configuration, with line numbers",
		more: `
Without a FILE it looks at what a join on this host would take: the file, its drop-ins, the environment and flags. Each FILE is looked
at by itself, with nothing but defaults before it. Files that settings name are not opened.

exit code: 0 all is well; 2 something is wrong`,
		prepare: func(flags *pflag.FlagSet) action {
			file := settingFlags(flags)
			return func(_ context.Context, flags *pflag.FlagSet, face *face) error {
				sources := []config.Source{source(flags, *file)}
				if flags.NArg() > 0 {
					sources = nil
				}
				nobody := func(string) (string, bool) { return "", false }
				for _, name := range flags.Args() {
					sources = append(sources, config.Source{
						File: name, Required: true, Alone: true, Lookup: nobody, Given: pflag.NewFlagSet("none", pflag.ContinueOnError), Check: checkSteps,
					})
				}
				document := newConfigDocument("ConfigCheck")
				for _, one := range sources {
					document.take(config.Explain(one))
				}
				document.Settings = nil
				return face.configuration(document, sayCheck)
			}
		},
	}
}

// take adds a configuration.
func (d *configDocument) take(e config.Explained) {
	d.Files = append(d.Files, e.Files...)
	d.Settings = append(d.Settings, e.Settings...)
	d.Problems = append(d.Problems, e.Problems...)
}

// ticket adds what the ticket adds to labels and taints.
func (d *configDocument) ticket(before config.Join, stdin io.Reader) {
	after, err := bootstrap.WithTicketOf(before, stdin)
	if err != nil {
		d.Problems = append(d.Problems, config.Problem{Key: "ticket", Message: err.Error()})
		return
	}
	place := before.Ticket
	add := func(key string, before, after []string) {
		if more := after[len(before):]; len(more) > 0 {
			d.Settings = append(d.Settings, config.Setting{Key: key, Value: more, Origin: config.Origin{From: config.FromTicket, Place: place}})
		}
	}
	add("nodeLabels", before.Labels, after.Labels)
	add("nodeTaints", before.Taints, after.Taints)
}

// configuration prints a document, and fails when there are problems.
func (f *face) configuration(document configDocument, say func(io.Writer, configDocument)) error {
	var err error
	if n := len(document.Problems); n > 0 {
		err = report.Fail(report.Usage, "", "things that are wrong with the configuration: %d", n)
		f.told = !f.json
	}
	document.result = resultOf(err)
	if writeErr := f.document(document, func(w io.Writer) { say(w, document) }); err == nil {
		err = writeErr
	}
	return err
}

// source is the configuration of this host.
func source(flags *pflag.FlagSet, file string) config.Source {
	return config.Source{File: file, Required: flags.Changed("config"), Lookup: os.LookupEnv, Given: flags, Check: checkSteps}
}

// checkSteps finds names in skip that are no steps that can be skipped.
func checkSteps(join config.Join) []config.Problem {
	possible := stepNames(func(s bootstrap.Step) bool { return !s.Needed })
	var problems []config.Problem
	for _, name := range join.Skip {
		if !slices.Contains(possible, name) {
			problems = append(problems, config.Problem{Key: "skip", Message: fmt.Sprintf("skip: %q; it can be some of %v", name, possible)})
		}
	}
	return problems
}
