// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hcp-node-agent/hcp-node-agent/internal/lists"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// exitCodesAnnotation has the exit codes of a command that not every command has.
const exitCodesAnnotation = "exit codes"

// ExitsWith returns the annotations of a command that can exit with these codes, and with those of
// every command: done, failed, and usage.
func ExitsWith(codes ...report.Code) map[string]string {
	numbers := lists.Map(codes, func(code report.Code) string { return strconv.Itoa(int(code)) })
	return map[string]string{exitCodesAnnotation: strings.Join(numbers, " ")}
}

// ExitStatuses returns the exit codes of a command and its subcommands.
func ExitStatuses(c *cobra.Command) []report.ExitStatus {
	possible := map[string]bool{"0": true, "1": true, "2": true}
	for _, one := range AvailableCommands(c) {
		for _, number := range strings.Fields(one.Annotations[exitCodesAnnotation]) {
			possible[number] = true
		}
	}
	return slices.DeleteFunc(report.ExitStatuses(), func(exit report.ExitStatus) bool {
		return !possible[strconv.Itoa(int(exit.Code))]
	})
}

// ExitCodesSection returns the section with the exit codes of a command and its subcommands.
func ExitCodesSection(c *cobra.Command, title string) Section {
	exits := Section{Title: title, Columns: []string{"code", "meaning"}}
	for _, exit := range ExitStatuses(c) {
		exits.Rows = append(exits.Rows, []string{strconv.Itoa(int(exit.Code)), exit.Meaning})
	}
	return exits
}
