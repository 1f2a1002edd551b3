// SPDX-License-Identifier: Apache-2.0

package report

import (
	"slices"
	"strings"
)

// ForImageMode returns the remedy for a host in image mode. There, packages belong to the image, and rpm-ostree sets
// kernel arguments. Commands that neither dnf nor grubby runs are unchanged.
func (r Remedy) ForImageMode() Remedy {
	var lines []string
	for line := range strings.Lines(string(r)) {
		command, note := cutNote(line)
		words := strings.Fields(command)
		switch {
		case len(words) > 2 && words[0] == "dnf" && (words[1] == "install" || words[1] == "downgrade"):
			line = "# add to the image of this host, and update the host to it: " + strings.Join(words[2:], " ")
		case len(words) > 2 && slices.Equal(words[:2], []string{"grubby", "--update-kernel=ALL"}):
			line = "rpm-ostree kargs " + kernelArgumentFlags(strings.Join(words[2:], " "))
			if note != "" {
				line += " # " + note
			}
		case len(words) > 0 && (words[0] == "dnf" || words[0] == "subscription-manager" || words[0] == "grubby"):
			continue // about repositories, or the default kernel
		}
		lines = append(lines, strings.TrimSuffix(line, "\n"))
	}
	return Remedy(strings.Join(lines, "\n"))
}

// kernelArgumentFlags converts the flags --args and --remove-args of grubby to those of rpm-ostree kargs. A quoted
// value contains several arguments.
func kernelArgumentFlags(grubby string) string {
	var flags []string
	flag := ""
	for word := range strings.FieldsSeq(strings.ReplaceAll(grubby, "'", "")) {
		if argument, found := strings.CutPrefix(word, "--args="); found {
			flag, word = "--append-if-missing=", argument
		} else if argument, found := strings.CutPrefix(word, "--remove-args="); found {
			flag, word = "--delete-if-present=", argument
		}
		flags = append(flags, flag+ShellWord(word))
	}
	return strings.Join(flags, " ")
}
