package main

import (
	"os"
	"strconv"
	"time"

	"github.com/hcp-node-agent/hcp-node-agent/internal/bootstrap"
	"github.com/hcp-node-agent/hcp-node-agent/internal/config"
	"github.com/hcp-node-agent/hcp-node-agent/internal/manual"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// tool tells of the program what man pages, the reference and completions are
// made from. What is no verb or flag is listed here.
func tool() manual.Tool {
	t := manual.Tool{
		Name: "hcp-node-agent", Does: "turn a RHEL machine into a worker of a Hosted Control Plane cluster",
		Description: "hcp-node-agent turns a plain RHEL machine into a worker of an OpenShift Hosted Control Plane (HyperShift) cluster,\n" +
			"NodePool platform None, from the NodePool's user-data stub. It can be stopped, killed or rebooted at any moment: the\n" +
			"same command goes on where it ended. Every change of the host is recorded first, and leave gives it back.",
		Example: "hcp-node-agent join --user-data stub.ign",
		Version: version, Date: pageDate(os.Getenv("SOURCE_DATE_EPOCH")),
		Environment: []manual.Entry{
			{Name: config.EnvironmentPrefix + "SETTING", Text: "a setting of a join, by its flag's name in capitals: that of --user-data is " + config.Variable("user-data")},
			{Name: "NO_COLOR", Text: "when it is not empty, no colors are used on a terminal"},
			{Name: "TERM", Text: "with the value dumb, lines on a terminal are not rewritten"},
			{Name: "JOURNAL_STREAM", Text: "set by systemd where output goes to the journal: what is told goes there with fields, see --log-format"},
			{Name: "NOTIFY_SOCKET", Text: "set by systemd for services of Type=notify: readiness, watchdog and status are told there"},
		},
		Files: []manual.Entry{
			{Name: config.DefaultFile, Text: "the configuration, of kind " + config.Kind + "; see: hcp-node-agent config show", Settings: true},
			{Name: "/etc/hcp-node-agent/config.d/*.yaml", Text: "drop-ins, in the order of their names, each winning over those before it", Settings: true},
			{Name: bootstrap.StateDir, Text: "the ledger of changes with what was there before, and the state of the join; for root only, as it holds secrets"},
			{Name: metricsFile, Text: "metrics of the service for node_exporter's textfile collector"},
		},
	}
	t.Configuration = manual.Configuration{
		Does: "the configuration of hcp-node-agent",
		Description: "YAML, or JSON, of kind " + config.Kind + " in version " + report.APIVersion + ". Every file names both. A flag wins over the environment, that over\n" +
			"drop-ins, those over the file; a list replaces the list before it. A setting that is not known is an error, with its\n" +
			"line. Secrets are not in these files, only where they are.\n\n" +
			"What is meant in the end, and what has said so:\n\n  hcp-node-agent config show\n\nWhat is wrong, with line numbers:\n\n  hcp-node-agent config validate",
		Example: "  apiVersion: " + report.APIVersion + "\n  kind: " + config.Kind +
			"\n  userData: /root/stub.ign\n  nodeLabels: [example.com/rack=7]\n  verifyReach: [bastion.example.com:22]",
		See: []string{"config show", "config validate"},
	}
	for _, exit := range report.Exits() {
		t.Exits = append(t.Exits, manual.Entry{Name: strconv.Itoa(int(exit.Code)), Text: exit.Meaning})
	}
	keys := config.Keys()
	for _, v := range shown() {
		set, _, _ := v.flags()
		one := manual.Verb{Name: v.name, Does: v.does, More: v.more, Takes: v.takes, Flags: manual.Flags(set)}
		if set.Lookup(settingsMark) != nil { // not every --ticket or --timeout is a setting
			for i, flag := range one.Flags {
				if keys[flag.Name] != "" {
					one.Flags[i].Setting, one.Flags[i].Variable = keys[flag.Name], config.Variable(flag.Name)
				}
			}
		}
		t.Verbs = append(t.Verbs, one)
	}
	return t
}

// settingsMark is the flag that all verbs with the settings of a join have.
const settingsMark = "until"

// pageDate is the day of the source, so that pages of the same source are the
// same: https://reproducible-builds.org/specs/source-date-epoch/
func pageDate(epoch string) string {
	seconds, err := strconv.ParseInt(epoch, 10, 64)
	if err != nil {
		return ""
	}
	return time.Unix(seconds, 0).UTC().Format(time.DateOnly)
}
