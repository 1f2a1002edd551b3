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
		SeeAlso: []string{
			"crio(8)", "hcp-node-agent-config(5)", "kubelet(1)", "nmcli(1)", "systemctl(1)",
		},
		Pages:   []cli.ManPage{configurationPage()},
		Schemas: schemas(),
	}
}

// settingNames returns the other names of the setting that a flag of a join sets.
func settingNames(flag *pflag.Flag) string {
	if flag.Annotations[settingAnnotation] == nil {
		return ""
	}
	return fmt.Sprintf(" [%s, %s]", config.Variable(flag.Name), config.Key(flag.Name))
}
