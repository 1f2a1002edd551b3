package config

import (
	"github.com/spf13/pflag"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// DefaultFile is the default path of the configuration file. Its drop-ins are in config.d
// beside it.
const DefaultFile = "/etc/hcp-node-agent/config.yaml"

// Source describes where settings come from.
type Source struct {
	File      string // configuration file; DefaultFile may be missing
	Lookup    func(string) (string, bool)
	Flags     *pflag.FlagSet // parsed flags
	Required  bool           // the user named the file, so it must exist
	NoDropIns bool           // ignore drop-ins
	// Check returns additional problems. It can be nil.
	Check func(Join) []Problem
}

// Load returns a join's configuration. Its errors have the exit code of invalid input.
func Load(source Source) (Join, error) {
	e := Explain(source)
	if len(e.Problems) == 0 {
		return e.Join, nil
	}
	return Join{}, problemsError(e.Problems)
}

// problemsError returns the error for problems.
func problemsError(problems []Problem) error {
	remedy := report.Remedy("hcp-node-agent join --help")
	if problems[0].File != "" {
		remedy = "hcp-node-agent config validate --help"
	}
	if problems[0].Remedy != "" {
		remedy = report.Remedy(joinRemedies(problems))
	}
	return report.Fail(report.Usage, remedy, "invalid configuration: %s", joinMessages(problems))
}
