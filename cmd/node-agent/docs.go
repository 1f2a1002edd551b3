package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/pflag"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

func completionVerb() verb {
	return verb{
		name: "completion", takes: "bash|zsh|fish",
		does: "print what a shell completes command lines of this program by",
		more: `
The package installs it for all three. Without the package:

  hcp-node-agent completion bash >/etc/bash_completion.d/hcp-node-agent
  hcp-node-agent completion zsh >/usr/share/zsh/site-functions/_hcp-node-agent
  hcp-node-agent completion fish >/usr/share/fish/vendor_completions.d/hcp-node-agent.fish`,
		prepare: func(*pflag.FlagSet) action {
			return func(_ context.Context, flags *pflag.FlagSet, face *face) error {
				print, known := map[string]func() string{"bash": tool().Bash, "zsh": tool().Zsh, "fish": tool().Fish}[flags.Arg(0)]
				if !known {
					return report.Fail(report.Usage, "hcp-node-agent completion --help", "%q is not one of bash, zsh, fish", flags.Arg(0))
				}
				_, err := io.WriteString(face.out, print())
				return err
			}
		},
	}
}

// docsManVerb is for who builds a package.
func docsManVerb() verb {
	return verb{
		name: "docs man", takes: "DIRECTORY", hidden: true,
		does: "write the man pages into a directory that is there; their date is that of SOURCE_DATE_EPOCH",
		prepare: func(*pflag.FlagSet) action {
			return func(_ context.Context, flags *pflag.FlagSet, _ *face) error {
				return writeAll(flags.Arg(0), tool().Pages())
			}
		},
	}
}

// docsMarkdownVerb makes docs/reference.md.
func docsMarkdownVerb() verb {
	return verb{
		name: "docs markdown", hidden: true,
		does: "print the reference in Markdown",
		prepare: func(*pflag.FlagSet) action {
			return func(_ context.Context, _ *pflag.FlagSet, face *face) error {
				_, err := io.WriteString(face.out, tool().Markdown())
				return err
			}
		},
	}
}

func writeAll(dir string, files map[string]string) error {
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil { //nolint:gosec // documents are for everybody
			return report.Fail(report.Usage, "# name a directory that is there", "writing documents: %w", err)
		}
	}
	return nil
}

func exitCodes() string {
	text := "exit codes:\n"
	line := " "
	for _, exit := range report.Exits() {
		word := fmt.Sprintf(" %d %s  ", exit.Code, exit.Short)
		if len(line)+len(word) > 110 {
			text, line = text+strings.TrimRight(line, " ")+"\n", " "
		}
		line += word
	}
	return text + strings.TrimRight(line, " ") + "\n"
}
