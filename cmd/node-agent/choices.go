package main

import (
	"github.com/spf13/pflag"

	"github.com/hcp-node-agent/hcp-node-agent/internal/bootstrap"
	"github.com/hcp-node-agent/hcp-node-agent/internal/config"
	"github.com/hcp-node-agent/hcp-node-agent/internal/manual"
)

// settingChoices notes which values settings of a join can have.
func settingChoices(flags *pflag.FlagSet) {
	manual.Choices(flags, "until", config.Untils()...)
	manual.Choices(flags, "skip", stepNames(func(s bootstrap.Step) bool { return !s.Needed })...)
}

// stepNames are those of the steps that are wanted.
func stepNames(wanted func(bootstrap.Step) bool) []string {
	var names []string
	for _, step := range bootstrap.Steps() {
		if wanted(step) {
			names = append(names, step.Name)
		}
	}
	return names
}
