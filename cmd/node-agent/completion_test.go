// SPDX-License-Identifier: Apache-2.0

//go:build shells

package main

import (
	"testing"

	"github.com/hcp-node-agent/hcp-node-agent/test/clitest"
)

func expectedCompletions() clitest.Completions {
	return clitest.Completions{InAllShells: map[string][]string{
		"":                                     agent().FirstWords(),
		"jo":                                   {"join"},
		"node":                                 {"node-ip"},
		"uplink":                               {}, // a hidden command
		"help conf":                            {"config"},
		"config ":                              {"show", "validate"},
		"config s":                             {"show"},
		"join --un":                            {"--until"},
		"join --until ":                        {"client-certificate", "kubelet", "ready", "schedulable"},
		"join --until k":                       {"kubelet"},
		"join --user-data us":                  {"user-data.ign"},
		"join --user-data user-data.ign --onl": {"--only"},
		"join --output json --only ":           {"network"},
		"join --only n":                        {"network"},
		"join --skip preflight,pa":             {"preflight,packages"},
		"-o json config s":                     {"show"},
		"join --skip nothing-like-this":        {},
		"plan -o ":                             {"json", "text"},
		"plan --output=j":                      {"--output=json"},
		"join --bridge-interface l":            {"lo"},
		"plan --di":                            {"--diff"},
		"version --di":                         {},
		"config validate us":                   {"user-data.ign"},
		"completion ":                          {"bash", "fish", "zsh"},
		"leave --no-drain --ou":                {"--output"},
	}}
}

// The tests of completion start the test binary for every line, which takes more than a second with
// the race detector, so the file is built without it.
func TestCompletionInBash(t *testing.T) { agent().CheckCompletionInBash(t, expectedCompletions()) }

func TestCompletionInZsh(t *testing.T) { agent().CheckCompletionInZsh(t, expectedCompletions()) }

func TestCompletionInFish(t *testing.T) { agent().CheckCompletionInFish(t, expectedCompletions()) }
