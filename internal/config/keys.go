// SPDX-License-Identifier: Apache-2.0

package config

import "strings"

// irregularKeys maps flags to their keys in the file where the key cannot be derived from
// the flag.
var irregularKeys = map[string]string{
	"nodepool":          "nodePool",
	"ignition-override": "ignitionOverrides",
	"payload-drop":      "payload.drop",
	"node-label":        "nodeLabels",
	"node-taint":        "nodeTaints",

	"apply-host-settings": "hostSettings",
}

// Key returns the key of a setting in the file by its flag: the flag's name in camel case, unless it is
// irregular.
func Key(flag string) string {
	if key, irregular := irregularKeys[flag]; irregular {
		return key
	}
	words := strings.Split(flag, "-")
	for i, word := range words[1:] {
		words[i+1] = strings.ToUpper(word[:1]) + word[1:]
	}
	return strings.Join(words, "")
}

// Variable returns the environment variable of a setting by its flag.
func Variable(flag string) string {
	return EnvironmentPrefix + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// Suggestion returns "; did you mean NAME?" for the name that is most similar to an unknown word,
// or "" if none is similar.
func Suggestion(word string, names []string) string {
	const maxEdits = 2
	best, edits := "", maxEdits+1
	for _, name := range names {
		if n := countEdits(strings.ToLower(word), strings.ToLower(name)); n < edits {
			best, edits = name, n
		}
	}
	if best == "" {
		return ""
	}
	return "; did you mean " + best + "?"
}

// countEdits returns the number of letters to insert, delete or replace to turn a into b
// (Levenshtein distance).
func countEdits(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			replace := diagonal
			if a[i] != b[j] {
				replace++
			}
			diagonal = row[j+1]
			row[j+1] = min(replace, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
