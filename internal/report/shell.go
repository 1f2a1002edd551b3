// SPDX-License-Identifier: Apache-2.0

package report

import "strings"

// ShellWord returns text as one word of a shell command. It is quoted with single quotes if
// it contains a character with a meaning in the shell.
func ShellWord(text string) string {
	const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_@%+=:,./-"
	if text != "" && strings.Trim(text, plain) == "" {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}
