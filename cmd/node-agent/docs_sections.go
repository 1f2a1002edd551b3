// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"strings"

	"github.com/spf13/pflag"

	"github.com/hcp-node-agent/hcp-node-agent/internal/autojoin"
	"github.com/hcp-node-agent/hcp-node-agent/internal/cli"
	"github.com/hcp-node-agent/hcp-node-agent/internal/config"
	"github.com/hcp-node-agent/hcp-node-agent/internal/joinstate"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// manSections returns the sections that every man page has.
func manSections() []cli.Section {
	return []cli.Section{
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
				{autojoin.DefaultDir + "/user-data.ign", "user data with which the service joins; removed after the join"},
				{autojoin.DefaultDir + "/node.token", "join token with which the service joins; removed after the join"},
				{joinstate.Dir, "the ledger of changes with the former state, and the state of the join; readable " +
					"only by root, because it contains secrets"},
				{metricsFile, "metrics of the service for the textfile collector of node_exporter"},
				{"/usr/lib/systemd/system/hcp-node-agent.service", "joins the host, resumes what was interrupted, and " +
					"monitors the node; see: hcp-node-agent run --help"},
				{"/usr/lib/systemd/system/hcp-node-agent.path", "starts the service when user data or a join token is created"},
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

// configurationPage returns the man page of the configuration file.
func configurationPage() cli.ManPage {
	settings := cli.Section{Title: "Settings"}
	for _, row := range settingsSection().Rows {
		settings.Rows = append(settings.Rows, []string{row[2], fmt.Sprintf("%s. Same as %s and %s.", row[4], row[0], row[1])})
	}
	return cli.ManPage{
		Name: programName + "-config", Number: "5", Summary: "Configuration of " + programName,
		Sections: []cli.Section{
			{Title: "Synopsis", Text: config.DefaultFile + "\n\n/etc/hcp-node-agent/config.d/*.yaml"},
			{Title: "Description", Text: `YAML or JSON of kind ` + config.Kind + ` in version ` + report.APIVersion + `. Every
file has both fields. A flag overrides the environment, the environment overrides drop-ins, and drop-ins override the
file; a list replaces the list before it. An unknown setting or variable is an error. Secrets are not in these files;
settings name the files that have them.

Print the settings and their origins:

    ` + programName + ` config show

Print all problems of the configuration with their positions:

    ` + programName + ` config validate`},
			settings,
			{Title: "Example", Text: "    " + strings.ReplaceAll(configurationExample(), "\n", "\n    ")},
		},
		SeeAlso: []string{programName + "(8)", programName + "-config-show(8)", programName + "-config-validate(8)"},
	}
}

func configurationExample() string {
	return "apiVersion: " + report.APIVersion + "\nkind: " + config.Kind + "\nuserData: " +
		"/root/user-data.ign\nnodeLabels: [example.com/rack=7]\nverifyReach: [bastion.example.com:22]\n"
}
