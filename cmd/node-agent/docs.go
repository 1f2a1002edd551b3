// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/hcp-node-agent/hcp-node-agent/internal/cli"
	"github.com/hcp-node-agent/hcp-node-agent/internal/config"
)

// docs returns the parts of the documentation that are not generated from the commands.
func docs() cli.Docs {
	return cli.Docs{
		ManSections:       manSections(),
		ReferenceSections: []cli.Section{settingsSection()},
		ManUsage:          settingNames,
		Pages: map[string]func(date, source string) string{
			programName + "-config.5": func(date, source string) string {
				title := strings.ToUpper(programName) + "-CONFIG"
				return fmt.Sprintf("%% %q \"5\" %q %q \"File Formats\"\n%s", title, date, source, configurationPage())
			},
		},
		Schemas: schemas(),
	}
}

// settingNames returns the other names of the setting that a flag of a join sets.
func settingNames(_ *cobra.Command, flag *pflag.Flag) string {
	key := config.Keys()[flag.Name]
	if key == "" || flag.Annotations[settingAnnotation] == nil {
		return ""
	}
	return fmt.Sprintf(" [%s, %s]", config.Variable(flag.Name), key)
}
