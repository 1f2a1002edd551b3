// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"

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
		Pages:             map[string]string{programName + "-config.5": configurationPage()},
		Schemas:           schemas(),
	}
}

// settingNames returns the other names of the setting that a flag of a join sets.
func settingNames(flag *pflag.Flag) string {
	if flag.Annotations[settingAnnotation] == nil {
		return ""
	}
	return fmt.Sprintf(" [%s, %s]", config.Variable(flag.Name), config.Key(flag.Name))
}
