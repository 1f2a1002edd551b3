// SPDX-License-Identifier: Apache-2.0

package clitest

import (
	"cmp"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"unicode/utf8"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

const helpWidth = 80

// allCommands returns all commands in their order in the help, including hidden ones.
func allCommands(root *cobra.Command) []*cobra.Command {
	all := []*cobra.Command{root}
	for _, c := range root.Commands() {
		all = append(all, allCommands(c)...)
	}
	return all
}

// CheckHelp checks that the forms of help of the program and of one subcommand are equal, and that
// the help lists the commands that are not hidden.
func (p Program) CheckHelp(t *testing.T, subcommand ...string) {
	t.Helper()
	help := p.Exec(t, "")
	if help.Code != report.Success || help.Err != "" {
		t.Errorf("without arguments: code %d, %s", help.Code, help.Err)
	}
	for _, word := range []string{"help", "--help", "-h"} {
		if diff := gocmp.Diff(help, p.Exec(t, "", word)); diff != "" {
			t.Errorf("%s (-help +got):\n%s", word, diff)
		}
	}
	for _, c := range p.Root().Commands() {
		if listed := strings.Contains(help.Out, fmt.Sprintf("\n  %-11s %s\n", c.Name(), c.Short)); listed == c.Hidden {
			t.Errorf("help lists %s: %t", c.Name(), listed)
		}
	}
	byFlag, byCommand := append(append([]string{}, subcommand...), "--help"), append([]string{"help"}, subcommand...)
	if diff := gocmp.Diff(p.Exec(t, "", byFlag...), p.Exec(t, "", byCommand...)); diff != "" {
		t.Errorf("help of a subcommand (-flag +command):\n%s", diff)
	}
}

// CheckHelpOfEveryCommand checks that the help of each command describes its flags within 80
// columns.
func (p Program) CheckHelpOfEveryCommand(t *testing.T) {
	t.Helper()
	for _, c := range allCommands(p.Root()) {
		t.Run(c.CommandPath(), func(t *testing.T) {
			got := p.Exec(t, "", append(strings.Fields(c.CommandPath())[1:], "--help")...)
			about := cmp.Or(c.Long, c.Short)
			begin := strings.TrimSpace(about) + "\n\nUsage:\n  " + c.CommandPath()
			if got.Code != report.Success || got.Err != "" || !strings.HasPrefix(got.Out, begin) {
				t.Errorf("code %d, %s%s", got.Code, got.Out, got.Err)
			}
			c.Flags().VisitAll(func(flag *pflag.Flag) {
				if flag.Hidden {
					return
				}
				if flag.Usage == "" || !strings.Contains(got.Out, "--"+flag.Name+" ") {
					t.Errorf("flag --%s is not described", flag.Name)
				}
				if strings.HasSuffix(flag.Usage, ".") || strings.Contains(got.Out, "--"+flag.Name+" string") {
					t.Errorf("flag --%s: the usage %q does not name the value", flag.Name, flag.Usage)
				}
			})
			if !strings.Contains(got.Out, "--output FORMAT") {
				t.Error("--output is not described")
			}
			for line := range strings.Lines(got.Out) {
				if utf8.RuneCountInString(strings.TrimSuffix(line, "\n")) > helpWidth {
					t.Errorf("more than %d columns: %s", helpWidth, line)
				}
			}
		})
	}
}

// CheckVersion checks both formats of the version.
func (p Program) CheckVersion(t *testing.T) {
	t.Helper()
	platform := runtime.GOOS + "/" + runtime.GOARCH
	text := p.Name + " " + p.Version + " (" + runtime.Version() + ", " + platform + ")\n"
	for _, word := range []string{"version", "--version"} {
		if diff := gocmp.Diff(Result{Code: report.Success, Out: text}, p.Exec(t, "", word)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", word, diff)
		}
	}
	got := p.Exec(t, "", "version", "--output", "json")
	document := DecodeDocument(t, got.Out)
	want := map[string]any{
		"apiVersion": report.APIVersion,
		"kind":       "Version",
		"version":    p.Version,
		"go":         runtime.Version(),
		"platform":   platform,
	}
	if diff := gocmp.Diff(want, document); diff != "" || got.Code != report.Success || got.Err != "" {
		t.Errorf("code %d, %s (-want +got):\n%s", got.Code, got.Err, diff)
	}
}

// CheckUsageErrors checks that each command line is a usage error that prints the given text.
func (p Program) CheckUsageErrors(t *testing.T, lines map[string]string) {
	t.Helper()
	for line, want := range lines {
		t.Run(line, func(t *testing.T) {
			got := p.Exec(t, "", strings.Fields(line)...)
			if diff := gocmp.Diff(Result{Code: report.Usage, Err: want}, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
