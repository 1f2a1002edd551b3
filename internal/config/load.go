// SPDX-License-Identifier: Apache-2.0

package config

import (
	"io"
	"strings"

	"github.com/spf13/pflag"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// DefaultFile is the default path of the configuration file. Its drop-ins are in config.d
// beside it.
const DefaultFile = "/etc/hcp-node-agent/config.yaml"

// Source describes where settings come from.
type Source struct {
	File        string         // configuration file; DefaultFile may be missing
	Stdin       io.Reader      // read if File is "-"; nil if "-" is an ordinary name
	Environment []string       // NAME=VALUE, as os.Environ returns it
	Flags       *pflag.FlagSet // parsed flags; nil for none
	Required    bool           // the user named the file, so it must exist
	NoDropIns   bool           // ignore drop-ins
}

// Load returns a join's configuration. Its errors have the exit code of invalid input.
func Load(source Source) (Join, error) {
	e := Explain(source)
	if len(e.Problems) == 0 {
		return e.Join, nil
	}
	var messages, remedies []string
	for _, p := range e.Problems {
		messages = append(messages, p.String())
		if p.Remedy != "" {
			remedies = append(remedies, string(p.Remedy))
		}
	}
	return Join{}, report.Fail(report.Usage, report.Remedy(strings.Join(remedies, " && ")), "invalid configuration: %s",
		strings.Join(messages, "; "))
}
