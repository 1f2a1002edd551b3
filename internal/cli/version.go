// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// The linker sets commit and commitDate in builds from a source package, which is not a repository.
var commit, commitDate string //nolint:gochecknoglobals // the linker can set nothing else

// VersionDocument is printed by version.
type VersionDocument struct {
	report.TypeMeta
	Version    string `json:"version" doc:"version of the program"`
	Commit     string `json:"commit,omitempty" doc:"commit that the program was built from; absent if unknown"`
	CommitDate string `json:"commitDate,omitempty" doc:"date of that commit (RFC 3339); absent if unknown"`
	Go         string `json:"go" doc:"version of Go that the program was built with"`
	Platform   string `json:"platform" doc:"operating system and architecture, such as linux/amd64"`
}

// NewVersionCommand returns the command that prints the version.
func NewVersionCommand(p *Printer) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version and the commit of the build",
		Args:  NoArgs,
		RunE:  func(*cobra.Command, []string) error { return p.printVersion() },
	}
}

func (p *Printer) printVersion() error {
	document := VersionDocument{
		TypeMeta:   report.Meta("Version"),
		Version:    p.Program.Version,
		Commit:     commit,
		CommitDate: commitDate,
		Go:         runtime.Version(),
		Platform:   runtime.GOOS + "/" + runtime.GOARCH,
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		document.addSource(info.Settings)
	}
	return p.Document(document, func(w *report.Page) {
		fmt.Fprintf(w, "%s %s (%s)\n", p.Program.Name, document.Version, document.details())
	})
}

// addSource sets the commit and its date from Go's build information, unless the linker has set them.
func (d *VersionDocument) addSource(settings []debug.BuildSetting) {
	for _, setting := range settings {
		switch {
		case setting.Key == "vcs.revision" && d.Commit == "":
			d.Commit = setting.Value
		case setting.Key == "vcs.time" && d.CommitDate == "":
			d.CommitDate = setting.Value
		}
	}
}

// details returns the fields after the version, as text.
func (d *VersionDocument) details() string {
	fields := []string{d.CommitDate, d.Go, d.Platform}
	if d.Commit != "" {
		fields = slices.Insert(fields, 0, "commit "+d.Commit)
	}
	return strings.Join(slices.DeleteFunc(fields, func(field string) bool { return field == "" }), ", ")
}
