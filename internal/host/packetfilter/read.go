// SPDX-License-Identifier: Apache-2.0

package packetfilter

import (
	"context"
	"errors"
	"os"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/command"
)

// Read returns the rules of this network namespace. A program that is not installed has no rules, unless rules of the
// legacy iptables are loaded.
func Read(ctx context.Context) (*Ruleset, error) {
	return Parse(func(program string, args ...string) (string, error) {
		output, err := command.Run(ctx, program, args...)
		if errors.Is(err, command.ErrNotInstalled) {
			return "", nil
		}
		return output, err
	}, hasLegacyTables)
}

// hasLegacyTables reports whether tables of the legacy iptables are loaded. iptables-legacy-save would load them.
func hasLegacyTables(list string) bool {
	content, err := os.ReadFile(list)
	return err == nil && len(content) > 0
}

// Parse parses the output of the programs that run returns; "" if a program is not installed.
func Parse(
	run func(program string, args ...string) (string, error), isLoaded func(list string) bool,
) (*Ruleset, error) {
	r := &Ruleset{}
	document, err := run("nft", "--json", "list", "ruleset")
	if err == nil && document != "" {
		err = r.parseJSON(document)
	}
	if err != nil {
		return r, err
	}
	texts, err := run("nft", "--stateless", "--handle", "list", "ruleset")
	if err != nil {
		return r, err
	}
	r.parseTexts(texts)
	for _, family := range []struct{ name, program, list string }{
		{"ip", "iptables", "/proc/net/ip_tables_names"}, {"ip6", "ip6tables", "/proc/net/ip6_tables_names"},
	} {
		saved, err := run(family.program + "-save")
		if err != nil {
			return r, err
		}
		if saved != "" {
			r.parseIPTables(family.name, family.program, saved)
		}
		legacy := family.program + "-legacy"
		if (saved == "" || isNFT(saved)) && isLoaded(family.list) {
			if saved, err = run(legacy + "-save"); err != nil {
				return r, err
			}
			r.parseIPTables(family.name, legacy, saved)
		}
	}
	return r, nil
}
