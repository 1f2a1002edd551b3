package main

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"

	"github.com/spf13/pflag"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// version is set by the build.
var version = "devel" //nolint:gochecknoglobals // the linker can set nothing else

type versionDocument struct {
	report.TypeMeta
	Version  string `json:"version"`
	Commit   string `json:"commit,omitempty"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

func versionVerb() verb {
	return verb{
		name: "version",
		does: "tell which version of the agent this is",
		prepare: func(*pflag.FlagSet) action {
			return func(_ context.Context, _ *pflag.FlagSet, face *face) error {
				document := versionDocument{
					TypeMeta: report.Meta("Version"), Version: version, Commit: commit(),
					Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH,
				}
				return face.document(document, func(w io.Writer) {
					fmt.Fprintf(w, "hcp-node-agent %s (%s, %s)\n", document.Version, document.Go, document.Platform)
				})
			}
		},
	}
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
