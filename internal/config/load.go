package config

import (
	"github.com/spf13/pflag"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// DefaultFile is where the configuration is when no flag says otherwise; its
// drop-ins are in config.d beside it.
const DefaultFile = "/etc/hcp-node-agent/config.yaml"

// Source is where settings come from.
type Source struct {
	File     string // of configuration; one that is missing is no error when it is DefaultFile
	Lookup   func(string) (string, bool)
	Given    *pflag.FlagSet // parsed flags
	Required bool           // the file was named by a person, so it must exist
	Alone    bool           // leave out the drop-ins
	// Check finds more that makes no sense; nil: nothing.
	Check func(Join) []Problem
}

// Load puts a join's configuration together. Its errors have the exit code of
// bad input.
func Load(source Source) (Join, error) {
	e := Explain(source)
	if len(e.Problems) == 0 {
		return e.Join, nil
	}
	return Join{}, fail(e.Problems)
}

// fail is the error for problems.
func fail(problems []Problem) error {
	remedy := "hcp-node-agent join --help"
	if problems[0].File != "" {
		remedy = "hcp-node-agent config validate --help"
	}
	if problems[0].Remedy != "" {
		remedy = remedies(problems)
	}
	return report.Fail(report.Usage, remedy, "configuration: %s", inWords(problems))
}
