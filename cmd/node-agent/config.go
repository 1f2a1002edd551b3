// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hcp-node-agent/hcp-node-agent/internal/cli"
	"github.com/hcp-node-agent/hcp-node-agent/internal/config"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/request"
)

type configDocument struct {
	report.TypeMeta
	Files    []string         `json:"files" doc:"files that were read; later files override earlier files"`
	Settings []config.Setting `json:"settings,omitempty" doc:"settings with a value, in the order of the help; only in the kind Config"`
	Problems []config.Problem `json:"problems" doc:"problems of the configuration"`
	report.CommandResult
}

func newConfigShowCommand(p *cli.Printer) *cobra.Command {
	c := &cobra.Command{
		Use:   "show",
		Short: "Print each setting of a join and its origin",
		Long: `Show prints each setting of a join on this host and its origin. Settings come
from defaults, the file, its drop-ins in the order of their names, the
environment and flags; each overrides those before it, and a list is replaced
as a whole. A join token adds its labels and taints. Secrets in URLs are masked;
other secrets are in files to which settings only refer.`,
		Example: "  hcp-node-agent config show\n  hcp-node-agent config show --config join.yaml",
		Args:    cli.NoArgs,
	}
	file := settingFlags(c, allSettings()...)
	c.RunE = func(c *cobra.Command, _ []string) error {
		e := config.Explain(configSource(c, *file))
		document := configDocument{
			TypeMeta: report.Meta("Config"), Files: e.Files, Settings: e.Settings, Problems: e.Problems,
		}
		if len(e.Problems) == 0 {
			document.addTokenSettings(e.Join, p.In)
		}
		return finishConfig(p, document, printConfig)
	}
	return c
}

func newConfigValidateCommand(p *cli.Printer) *cobra.Command {
	c := &cobra.Command{
		Use:   "validate [FILE...]",
		Short: "Validate the configuration",
		Long: `Validate prints all problems of the configuration with their positions. Without
a FILE it validates the configuration of a join on this host: the file, its
drop-ins and the environment. Each FILE, or - for standard input, is validated
alone. Files to which settings refer are not opened.

The exit code is 0 without problems, and 2 otherwise.`,
		Example:           "  hcp-node-agent config validate\n  hcp-node-agent config validate join.yaml",
		Args:              cobra.ArbitraryArgs,
		ValidArgsFunction: cli.CompleteFiles(),
	}
	file := settingFlags(c)
	c.RunE = func(c *cobra.Command, args []string) error {
		sources := []config.Source{configSource(c, *file)}
		if len(args) > 0 {
			sources = nil
		}
		for _, name := range args {
			sources = append(sources, config.Source{File: name, Stdin: p.In, Required: true, NoDropIns: true})
		}
		document := configDocument{TypeMeta: report.Meta("ConfigCheck")}
		for _, one := range sources {
			e := config.Explain(one)
			document.Files = append(document.Files, e.Files...)
			document.Problems = append(document.Problems, e.Problems...)
		}
		return finishConfig(p, document, printCheck)
	}
	return c
}

// addTokenSettings adds the labels and taints of the join token to the settings.
func (d *configDocument) addTokenSettings(before config.Join, stdin io.Reader) {
	after, err := request.WithJoinToken(before, stdin)
	if err != nil {
		d.Problems = append(d.Problems, config.Problem{Key: "joinToken", Message: err.Error()})
		return
	}
	place := before.JoinToken
	add := func(key string, before, after []string) {
		if more := after[len(before):]; len(more) > 0 {
			d.Settings = append(d.Settings, config.Setting{
				Key:    key,
				Value:  more,
				Origin: config.Origin{From: config.FromJoinToken, Location: place},
			})
		}
	}
	add("nodeLabels", before.Labels, after.Labels)
	add("nodeTaints", before.Taints, after.Taints)
}

// finishConfig prints a document with p, and fails if it has problems.
func finishConfig(p *cli.Printer, document configDocument, print func(*report.Page, configDocument)) error {
	var err error
	if n := len(document.Problems); n > 0 {
		err = report.Fail(report.Usage, "", "problems of the configuration: %d", n)
		p.StepReported = !p.JSON
	}
	document.CommandResult = report.ResultOf(err)
	return cmp.Or(err, p.Document(document, func(w *report.Page) { print(w, document) }))
}

// configSource returns the sources of this host's configuration.
func configSource(c *cobra.Command, file string) config.Source {
	return config.Source{
		File:        file,
		Required:    c.Flags().Changed("config"),
		Environment: os.Environ(),
		Flags:       c.Flags(),
	}
}

func printConfig(w *report.Page, d configDocument) {
	if len(d.Files) == 0 {
		fmt.Fprintln(w, "no configuration file exists ("+config.DefaultFile+")")
	}
	for _, file := range d.Files {
		fmt.Fprintln(w, file)
	}
	fmt.Fprintln(w)
	key, value := 0, 0
	for _, s := range d.Settings {
		key, value = max(key, len(s.Key)), max(value, min(40, len(valueText(s.Value))))
	}
	for _, s := range d.Settings {
		fmt.Fprintf(w, "  %-*s  %-*s  %s\n", key, s.Key, value, valueText(s.Value), s.Origin)
	}
	for _, p := range d.Problems {
		fmt.Fprintf(w, "  problem: %s\n", p)
		w.Remedy(p.Remedy)
	}
}

func printCheck(w *report.Page, d configDocument) {
	for _, p := range d.Problems {
		fmt.Fprintln(w, p)
		w.Remedy(p.Remedy)
	}
	if len(d.Problems) > 0 {
		return
	}
	if len(d.Files) == 0 {
		fmt.Fprintln(w, "no configuration file exists; no problems in the environment")
		return
	}
	fmt.Fprintf(w, "no problems in %s\n", strings.Join(d.Files, ", "))
}

// valueText returns a value in the syntax of the configuration file.
func valueText(value any) string {
	if text, isText := value.(string); isText {
		return text
	}
	content, _ := json.Marshal(value) // a list of texts or a boolean
	return string(content)
}
