// SPDX-License-Identifier: Apache-2.0

package main

import (
	"net"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/hcp-node-agent/hcp-node-agent/internal/cli"
	"github.com/hcp-node-agent/hcp-node-agent/internal/config"
	"github.com/hcp-node-agent/hcp-node-agent/internal/lists"
	"github.com/hcp-node-agent/hcp-node-agent/internal/request"
	"github.com/hcp-node-agent/hcp-node-agent/internal/steps"
)

// Settings that have a flag in commands other than join, by their flags. A command that changes
// nothing has no flag for a change.
var (
	// userDataSettings select the payload.
	userDataSettings = request.UserDataFlags
	// upgradeSettings can be given to an upgrade; the others remain those of the join.
	upgradeSettings = request.UpgradeFlags
	// planSettings determine the result of plan and preflight.
	planSettings = append(slices.Clone(userDataSettings),
		"bridge-interface", "verify-reach", "network-timeout", "node-label", "node-taint", "pause-image",
		"join-token", "openshift-release", "software", "install-packages", "apply-host-settings", "skip")
)

// settingAnnotation marks flags that are settings of a join.
const settingAnnotation = "setting"

// settingFlags binds the settings of a join that have one of the flags, and the path of the
// configuration file, which it returns.
func settingFlags(c *cobra.Command, flags ...string) *string {
	c.Flags().SortFlags = false
	settings := settingFlagSet()
	for _, name := range flags {
		flag := settings.Lookup(name)
		flag.Annotations = map[string][]string{settingAnnotation: {"true"}}
		c.Flags().AddFlag(flag)
	}
	for name, complete := range map[string]cobra.CompletionFunc{
		"until":               cli.CompleteValue(steps.UntilValues()),
		"apply-host-settings": cli.CompleteValue(config.HostSettingsValues()),
		"software":            cli.CompleteValue(config.SoftwareSources()),
		"skip":                cli.CompleteList(steps.SkipValues()),
	} {
		if slices.Contains(flags, name) {
			cli.CompleteFlag(c, name, complete)
		}
	}
	return c.Flags().String("config", config.DefaultFile,
		"configuration `FILE`; its drop-ins are in the directory config.d beside it")
}

// allSettings returns the flags of all settings of a join, in the order of the help. The
// setting repair concerns only the service.
func allSettings() []string {
	var names []string
	settingFlagSet().VisitAll(func(flag *pflag.Flag) {
		if flag.Name != "repair" {
			names = append(names, flag.Name)
		}
	})
	return names
}

// settingFlagSet returns flags for all settings of a join, with their defaults.
func settingFlagSet() *pflag.FlagSet {
	defaults := config.Defaults()
	return config.FlagSet(&defaults)
}

func completeInterfaces(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
	interfaces, _ := net.Interfaces() // without them nothing is completed
	names := lists.Map(interfaces, func(one net.Interface) cobra.Completion { return one.Name })
	return names, cobra.ShellCompDirectiveNoFileComp
}
