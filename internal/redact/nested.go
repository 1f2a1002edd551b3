// SPDX-License-Identifier: Apache-2.0

package redact

import (
	"regexp"
	"strings"
)

var (
	// keyOnlyLine matches a line with a secret key whose value is on the following lines.
	keyOnlyLine = regexp.MustCompile(`^([ \t]*(?:- )?)["']?([A-Za-z0-9_.-]+)["']?[ \t]*[:=][ \t]*([|>][-+0-9]*|\[)?[ \t]*$`)
	// valueLine matches a line that consists of one value.
	valueLine = regexp.MustCompile(`^([ \t]*(?:- *)?)["']?[^\s:"'{}\[\]=#]+={0,2}["']?(,?)[ \t]*$`)
)

// maskNested masks values on the lines after their key: YAML blocks, and lists.
func maskNested(text string) string {
	lines := strings.Split(text, "\n")
	below := func(string) (string, bool) { return "", false }
	for i, line := range lines {
		line = strings.TrimSuffix(line, "\r")
		if masked, inside := below(line); inside {
			lines[i] = masked
			continue
		}
		below = func(string) (string, bool) { return "", false }
		if open := keyOnlyLine.FindStringSubmatch(line); open != nil && isSecretKey(open[2]) {
			below = listItem
			if strings.HasPrefix(open[3], "|") || strings.HasPrefix(open[3], ">") {
				below = blockLine(len(open[1]))
			}
		}
	}
	return strings.Join(lines, "\n")
}

// listItem masks a line of a list. It reports whether the line is part of a list.
func listItem(line string) (string, bool) {
	part := valueLine.FindStringSubmatch(line)
	if part == nil {
		return "", false
	}
	return part[1] + Mask + part[2], true
}

// blockLine returns a function that masks a line of a YAML block below a key with this
// indentation.
func blockLine(indented int) func(string) (string, bool) {
	return func(line string) (string, bool) {
		bare := strings.TrimLeft(line, " \t")
		if bare == "" {
			return line, true
		}
		indent := len(line) - len(bare)
		return line[:indent] + Mask, indent > indented
	}
}

// nameValuePair matches a name and a value that are labeled with these words, as in container
// environments and in headers of Ignition configs.
var nameValuePair = regexp.MustCompile(`(\bname\\?["']?\s*:\s*\\?["']?)([A-Za-z0-9_.-]+)(\\?["']?\s*,?\s*\\?["']?value\\?["']?\s*:[ \t]*)([^\n]*)`)

// replaceNamedPairs replaces the values of labeled pairs with a secret name. A match of the
// pattern extends to the end of the line, which can contain further pairs.
func replaceNamedPairs(text string, replace func(value string) string) string {
	return nameValuePair.ReplaceAllStringFunc(text, func(match string) string {
		part := nameValuePair.FindStringSubmatch(match)
		pair, rest := part[1]+part[2]+part[3], part[4]
		if isSecretKey(part[2]) {
			length := valueLength(rest, "")
			pair, rest = pair+replace(rest[:length]), rest[length:]
		}
		return pair + replaceNamedPairs(rest, replace)
	})
}
