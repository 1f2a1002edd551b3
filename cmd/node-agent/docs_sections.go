// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"strings"

	"github.com/spf13/pflag"

	"github.com/hcp-node-agent/hcp-node-agent/internal/cli"
	"github.com/hcp-node-agent/hcp-node-agent/internal/config"
	"github.com/hcp-node-agent/hcp-node-agent/internal/joinstate"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// manSections returns the sections that every man page has.
func manSections() []cli.Section {
	return []cli.Section{
		cli.ExitCodes(),
		{
			Title: "Environment", Columns: []string{"variable", "meaning"},
			Rows: append([][]string{
				{config.EnvironmentPrefix + "SETTING", "a setting of a join, named after its flag in capitals: " +
					"the variable of --user-data is " + config.Variable("user-data") + "; an unknown name is an error"},
			}, cli.OutputVariables()...),
		},
		{
			Title: "Files", Columns: []string{"file", "content"},
			Rows: [][]string{
				{config.DefaultFile, "configuration of kind " + config.Kind + "; see: hcp-node-agent config show"},
				{"/etc/hcp-node-agent/config.d/*.yaml", "drop-ins in the order of their names; each overrides " +
					"those before it"},
				{joinstate.Dir, "the ledger of changes with the former state, and the state of the join; readable " +
					"only by root, because it contains secrets"},
				{metricsFile, "metrics of the service for the textfile collector of node_exporter"},
			},
		},
	}
}

// settingsSection returns the settings of a join.
func settingsSection() cli.Section {
	s := cli.Section{Title: "Settings", Columns: []string{"flag", "environment", "file", "default", "meaning"}}
	settingFlagSet().VisitAll(func(flag *pflag.Flag) {
		value, usage := pflag.UnquoteUsage(flag)
		name := strings.TrimSpace("--" + flag.Name + " " + value)
		preset := strings.Trim(flag.DefValue, "[]")
		s.Rows = append(s.Rows, []string{name, config.Variable(flag.Name), config.Key(flag.Name), preset, usage})
	})
	return s
}

// configurationPage returns the man page of the configuration file in Markdown.
func configurationPage() string {
	var out strings.Builder
	fmt.Fprintf(&out, `# NAME
%[1]s-config - configuration of %[1]s

# SYNOPSIS
%[2]s

/etc/hcp-node-agent/config.d/\*.yaml

# DESCRIPTION
YAML or JSON of kind %[3]s in version %[4]s. Every file has both fields. A flag overrides the environment,
the environment overrides drop-ins, and drop-ins override the file; a list replaces the list before it. An
unknown setting or variable is an error. Secrets are not in these files; settings name the files that have them.

Print the settings and their origins:

    %[1]s config show

Print all problems of the configuration with their positions:

    %[1]s config validate

# SETTINGS
`, programName, config.DefaultFile, config.Kind, report.APIVersion)
	list := cli.Section{}
	for _, row := range settingsSection().Rows {
		list.Rows = append(list.Rows, []string{row[2], fmt.Sprintf("%s. Same as %s and %s.", row[4], row[0], row[1])})
	}
	fmt.Fprintf(&out,
		"%s# EXAMPLE\n```\n%s```\n\n# SEE ALSO\n**%[3]s(8)**, **%[3]s-config-show(8)**, **%[3]s-config-validate(8)**\n",
		list.Definitions(), configurationExample(), programName)
	return out.String()
}

func configurationExample() string {
	return "apiVersion: " + report.APIVersion + "\nkind: " + config.Kind + "\nuserData: " +
		"/root/user-data.ign\nnodeLabels: [example.com/rack=7]\nverifyReach: [bastion.example.com:22]\n"
}
