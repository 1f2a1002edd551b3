// SPDX-License-Identifier: Apache-2.0

package request

import (
	"regexp"
	"slices"
	"strings"

	"github.com/hcp-node-agent/hcp-node-agent/internal/config"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// joinCommand matches the command join with its arguments in a remedy.
var joinCommand = regexp.MustCompile(`\bhcp-node-agent join\b[^\n;#&|]*`)

// UserDataFlags are the flags that select the payload.
var UserDataFlags = []string{
	"user-data", "endpoint", "token-file", "ca-file", "nodepool", "config-hash", "connect-to",
	"ignition-override", "payload-drop",
}

// UpgradeFlags are the flags for settings that can be given to an upgrade; the others remain those of the join.
var UpgradeFlags = append(slices.Clone(UserDataFlags), "openshift-release", "software", "install-packages",
	"apply-host-settings", "ignore-logins", "timeout")

// CompleteRemedy returns a remedy whose join commands repeat the inputs and settings of this run. It is
// for a host without a recorded join, on which a join command alone has no user data, and for an upgrade,
// which must be run again with the setting of the remedy. Arguments of the remedy take precedence.
// Secrets are in files, of which the arguments only have the names.
func (o Options) CompleteRemedy(remedy report.Remedy) report.Remedy {
	return report.Remedy(joinCommand.ReplaceAllStringFunc(string(remedy), func(command string) string {
		const agent = "hcp-node-agent "
		given := strings.TrimPrefix(command, agent+"join")
		name := "join"
		if o.Command == UpgradeCommand {
			if !isForUpgrade(given) {
				return command
			}
			name = o.Command
		}
		return strings.Join(append([]string{agent + name}, o.repeatedArguments(given)...), " ") + given
	}))
}

// UpgradeCommand is the value of Options.Command for an upgrade.
const UpgradeCommand = "upgrade"

// isForUpgrade reports whether arguments of a join change a setting, and an upgrade accepts all of them.
func isForUpgrade(arguments string) bool {
	flags := flagName.FindAllStringSubmatch(arguments, -1)
	return len(flags) > 0 && !slices.ContainsFunc(flags, func(match []string) bool {
		return !slices.Contains(UpgradeFlags, match[1])
	})
}

var flagName = regexp.MustCompile(`--([a-z-]+)`)

// CompleteError returns err with its remedy completed by CompleteRemedy.
func (o Options) CompleteError(err error) error {
	own := report.RemedyOf(err)
	if remedy := o.CompleteRemedy(own); remedy != own {
		return report.Fail(report.CodeOf(err), remedy, "%w", err)
	}
	return err
}

// CompleteFindings completes the remedies of findings in place.
func (o Options) CompleteFindings(findings []report.Finding) {
	for i := range findings {
		findings[i].Remedy = o.CompleteRemedy(findings[i].Remedy)
	}
}

// RemedySink returns a sink that completes the remedies of events as long as hasRecords reports that no
// join is recorded.
func (o Options) RemedySink(hasRecords func() bool) report.Sink {
	if o.Sink == nil {
		return nil
	}
	return remedySink{o, hasRecords}
}

type remedySink struct {
	options    Options
	hasRecords func() bool
}

// Emit forwards the event with its completed remedy.
func (s remedySink) Emit(event report.Event) {
	if !s.hasRecords() {
		event.Remedy = s.options.CompleteRemedy(event.Remedy)
	}
	s.options.Sink.Emit(event)
}

// repeatedArguments returns the arguments of this run that a command does not have yet. A command that
// names user data gets no part of another source.
func (o Options) repeatedArguments(command string) []string {
	source := []string{"user-data", "endpoint", "token-file", "ca-file", "nodepool", "config-hash"}
	c := o.Config
	if !c.HasUserData() && c.JoinToken == "" && len(o.Only) == 0 {
		c.UserData = "-"
	}
	isGiven := func(flag string) bool { return slices.Contains(strings.FieldsFunc(command, isFlagEnd), "--"+flag) }
	var all []string
	if len(o.Only) > 0 {
		all = append(all, "--only", strings.Join(o.Only, ","))
	}
	for _, argument := range config.Arguments(c) {
		if o.Command == UpgradeCommand && !slices.Contains(UpgradeFlags, argument.Flag) {
			continue // set by the configuration file
		}
		isReplaced := isGiven("user-data") && slices.Contains(source, argument.Flag)
		if !isReplaced && (argument.IsList || !isGiven(argument.Flag)) {
			all = append(all, argument.Text)
		}
	}
	return all
}

func isFlagEnd(letter rune) bool { return letter == ' ' || letter == '=' }
