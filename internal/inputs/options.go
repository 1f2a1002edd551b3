package inputs

import (
	"io"

	"github.com/hcp-node-agent/hcp-node-agent/internal/config"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// Options configures a command.
type Options struct {
	Command  string // name of the command, for remedies; join if empty
	Config   config.Join
	Service  bool // started by the service: waits for other runs, never takes over
	Resume   bool // resume the unfinished join with its recorded settings
	StateDir string
	Sink     report.Sink
	Stdin    io.Reader
	Diff     bool // for a plan: include differences of text files
}
