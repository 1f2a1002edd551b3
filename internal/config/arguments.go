// SPDX-License-Identifier: Apache-2.0

package config

import (
	"encoding/csv"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/hcp-node-agent/hcp-node-agent/internal/lists"
	"github.com/hcp-node-agent/hcp-node-agent/internal/redact"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// Argument is a flag with its value on a command line.
type Argument struct {
	Flag   string
	Text   string // words of a shell
	IsList bool   // values of a second flag are added
}

// Arguments returns the arguments with which a command line repeats the settings of j that are not
// defaults, in the order of help. Paths are absolute. A placeholder in capital letters replaces
// standard input, which cannot be read again. The settings that concern one run (timeout) or the
// service (repair) have no arguments.
func Arguments(j Join) []Argument {
	var all []Argument
	defaults := Defaults()
	unset := FlagSet(&defaults)
	FlagSet(&j).VisitAll(func(flag *pflag.Flag) {
		if flag.Value.String() == unset.Lookup(flag.Name).Value.String() ||
			slices.Contains([]string{"timeout", "repair"}, flag.Name) {
			return
		}
		_, isList := flag.Value.(pflag.SliceValue)
		all = append(all, Argument{flag.Name, argumentText(flag), isList})
	})
	return all
}

// argumentText returns a flag with its value as words of a shell.
func argumentText(flag *pflag.Flag) string {
	name, value := "--"+flag.Name, repeatableValue(flag, flag.Value.String())
	if list, isList := flag.Value.(pflag.SliceValue); isList {
		var text strings.Builder
		elements := lists.Map(list.GetSlice(), func(element string) string { return repeatableValue(flag, element) })
		writer := csv.NewWriter(&text) // as pflag reads it
		_ = writer.Write(elements)     // a string builder does not fail
		writer.Flush()
		value = strings.TrimSuffix(text.String(), "\n")
	}
	switch {
	case flag.Value.Type() == "bool" && value == "true":
		return name
	case flag.NoOptDefVal != "":
		return name + "=" + report.ShellWord(value)
	}
	return name + " " + report.ShellWord(value)
}

// repeatableValue returns a value with which the same flag has the same meaning in another run.
// Secrets in URLs are masked.
func repeatableValue(flag *pflag.Flag, value string) string {
	placeholder, _ := pflag.UnquoteUsage(flag)
	if placeholder != "FILE" && placeholder != "KUBECONFIG" {
		return redact.Text(value)
	}
	if value == "-" {
		return strings.ToUpper(strings.ReplaceAll(flag.Name, "-", "_"))
	}
	if absolute, err := filepath.Abs(value); err == nil { // else the working directory was removed
		return absolute
	}
	return value
}
