package cli

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// VersionDocument is printed by version.
type VersionDocument struct {
	report.TypeMeta
	Version  string `json:"version" doc:"version of the program"`
	Commit   string `json:"commit,omitempty" doc:"commit that the program was built from; absent if unknown"`
	Go       string `json:"go" doc:"version of Go that the program was built with"`
	Platform string `json:"platform" doc:"operating system and architecture, such as linux/amd64"`
}

// NewVersionCommand returns the command that prints the version.
func NewVersionCommand(p *Printer) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  cobra.NoArgs,
		RunE:  func(*cobra.Command, []string) error { return p.printVersion() },
	}
}

func (p *Printer) printVersion() error {
	document := VersionDocument{
		TypeMeta: report.Meta("Version"),
		Version:  p.Program.Version,
		Commit:   commit(),
		Go:       runtime.Version(),
		Platform: runtime.GOOS + "/" + runtime.GOARCH,
	}
	return p.Document(document, func(w *report.Page) {
		fmt.Fprintf(w, "%s %s (%s, %s)\n", p.Program.Name, document.Version, document.Go, document.Platform)
	})
}

func commit() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	for _, setting := range info.Settings {
		if setting.Key == "vcs.revision" {
			return setting.Value
		}
	}
	return ""
}
