package main

import (
	"fmt"
	"io"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// version is set by the build.
var version = "devel" //nolint:gochecknoglobals // the linker can set nothing else

type VersionDocument struct {
	report.TypeMeta
	Version  string `json:"version"`
	Commit   string `json:"commit,omitempty"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

func NewVersionCommand(p *Printer) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  cobra.NoArgs,
		RunE:  func(*cobra.Command, []string) error { return p.PrintVersion() },
	}
}

func (p *Printer) PrintVersion() error {
	document := VersionDocument{
		TypeMeta: report.Meta("Version"),
		Version:  version,
		Commit:   commit(),
		Go:       runtime.Version(),
		Platform: runtime.GOOS + "/" + runtime.GOARCH,
	}
	return p.Document(document, func(w io.Writer) {
		fmt.Fprintf(w, "%s %s (%s, %s)\n", programName, document.Version, document.Go, document.Platform)
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
