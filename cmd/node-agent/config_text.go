// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/hcp-node-agent/hcp-node-agent/internal/config"
)

func printConfig(w io.Writer, d configDocument) {
	if len(d.Files) == 0 {
		fmt.Fprintln(w, "no configuration file exists ("+config.DefaultFile+")")
	}
	for _, file := range d.Files {
		fmt.Fprintln(w, file)
	}
	fmt.Fprintln(w)
	key, value := 0, 0
	for _, s := range d.Settings {
		key, value = max(key, len(s.Key)), max(value, min(40, len(valueText(s.Value))))
	}
	for _, s := range d.Settings {
		fmt.Fprintf(w, "  %-*s  %-*s  %s\n", key, s.Key, value, valueText(s.Value), s.Origin)
	}
	for _, p := range d.Problems {
		fmt.Fprintf(w, "  problem: %s\n", p)
		printRemedy(w, p)
	}
}

// printRemedy prints the command that fixes a problem on a line of its own.
func printRemedy(w io.Writer, p config.Problem) {
	for _, line := range p.Remedy.Lines() {
		fmt.Fprintln(w, line)
	}
}

func printCheck(w io.Writer, d configDocument) {
	for _, p := range d.Problems {
		fmt.Fprintln(w, p)
		printRemedy(w, p)
	}
	if len(d.Problems) > 0 {
		return
	}
	if len(d.Files) == 0 {
		fmt.Fprintln(w, "no configuration file exists; no problems in the environment")
		return
	}
	fmt.Fprintf(w, "no problems in %s\n", strings.Join(d.Files, ", "))
}

// valueText returns a value in the syntax of the configuration file.
func valueText(value any) string {
	if text, isText := value.(string); isText {
		return text
	}
	content, err := json.Marshal(value)
	if err != nil {
		return fmt.Sprint(value)
	}
	return string(content)
}
