// SPDX-License-Identifier: Apache-2.0

//go:build shells

package main

import (
	"testing"

	"github.com/hcp-node-agent/hcp-node-agent/test/clitest"
)

func expectedCompletions() clitest.Completions {
	return clitest.Completions{
		InAllShells: map[string][]string{
			"":                               admin().FirstWords(),
			"help tok":                       {"token"},
			"token ":                         {"revoke", "show"},
			"token r":                        {"revoke"},
			"-o json token r":                {"revoke"},
			"token show us":                  {"user-data.ign"},
			"enroll --output-dir enrollment": {"enrollments"},
			"enroll --format ign":            {"ignition"},
			"approve --finger":               {"--fingerprint"},
			"join":                           {},
		},
	}
}

// The tests of completion start the test binary for every line, which takes more than a second with
// the race detector, so the file is built without it.
func TestCompletionInBash(t *testing.T) { admin().CheckCompletionInBash(t, expectedCompletions()) }

func TestCompletionInZsh(t *testing.T) { admin().CheckCompletionInZsh(t, expectedCompletions()) }

func TestCompletionInFish(t *testing.T) { admin().CheckCompletionInFish(t, expectedCompletions()) }
