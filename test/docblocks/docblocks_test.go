// SPDX-License-Identifier: Apache-2.0

package docblocks

import (
	"regexp"
	"slices"
	"testing"
)

// Every block has a language, by which a reader and these tests know whether to run it. Commands of this project are
// only in shell blocks.
func TestBlocksHaveALanguage(t *testing.T) {
	blocks, err := Find("../..")
	if err != nil {
		t.Fatal(err)
	}
	others := []string{"text", "yaml", "json", "ini", "mermaid"}
	command := regexp.MustCompile(`(?m)^ *[#$]? *(sudo )?(oc|hcp-node-agent|hcp-node-admin) [a-z-]`)
	shell := 0
	for _, block := range blocks {
		switch {
		case block.Language == Shell:
			shell++
		case !slices.Contains(others, block.Language):
			t.Errorf("%s: the language %q is none of %q, %q", block, block.Language, Shell, others)
		case command.MatchString(block.Text):
			t.Errorf("%s: a block of %s contains a command:\n%s", block, block.Language, block.Text)
		}
	}
	if shell < 100 {
		t.Errorf("only %d shell blocks were found", shell)
	}
}
