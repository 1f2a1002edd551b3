// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// Section is a part of the documentation that lists entries.
type Section struct {
	Title   string
	Columns []string // of the table
	Rows    [][]string
}

// Table returns the section as a Markdown table.
func (s Section) Table() string {
	var out strings.Builder
	escape := strings.NewReplacer("|", `\|`, "<", "&lt;", "*", `\*`)
	fmt.Fprintf(&out, "| %s |\n|%s\n", strings.Join(s.Columns, " | "), strings.Repeat("---|", len(s.Columns)))
	for _, row := range s.Rows {
		for _, cell := range row[:len(row)-1] {
			if cell != "" {
				cell = "`" + cell + "`"
			}
			fmt.Fprintf(&out, "| %s ", cell)
		}
		fmt.Fprintf(&out, "| %s |\n", escape.Replace(row[len(row)-1]))
	}
	return out.String()
}

// Definitions returns the section as a Markdown definition list.
func (s Section) Definitions() string {
	var out strings.Builder
	escape := strings.NewReplacer("*", `\*`, "<", `\<`, "_", `\_`)
	for _, row := range s.Rows {
		fmt.Fprintf(&out, "**%s**\n: %s\n\n", escape.Replace(row[0]), escape.Replace(row[len(row)-1]))
	}
	return out.String()
}

// ExitCodes returns the section with the exit codes.
func ExitCodes() Section {
	exits := Section{Title: "Exit codes", Columns: []string{"code", "meaning"}}
	for _, exit := range report.ExitStatuses() {
		exits.Rows = append(exits.Rows, []string{strconv.Itoa(int(exit.Code)), exit.Meaning})
	}
	return exits
}

// OutputVariables returns the rows of the environment variables that control the output.
func OutputVariables() [][]string {
	return [][]string{
		{"NO_COLOR", "if not empty, output on a terminal has no colors"},
		{"TERM", "with the value dumb, lines on a terminal are not rewritten"},
		{"JOURNAL_STREAM", "set by systemd if output goes to the journal: progress is logged there with fields, " +
			"see --log-format"},
		{"NOTIFY_SOCKET", "set by systemd for services of Type=notify: receives readiness, watchdog and status"},
	}
}
