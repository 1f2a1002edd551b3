// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"net/netip"
	"strings"

	"github.com/hcp-node-agent/hcp-node-agent/internal/enrollment"
)

// tokenNode is a node to create a join token for.
type tokenNode struct {
	name      string
	addresses []netip.Prefix
}

// parseNodes parses lines with the name of a node and its addresses. Text after # is a comment.
func parseNodes(content []byte) ([]tokenNode, error) {
	var nodes []tokenNode
	for i, line := range strings.Split(string(content), "\n") {
		text, _, _ := strings.Cut(line, "#")
		words := strings.Fields(text)
		if len(words) == 0 {
			continue
		}
		addresses, err := parseAddresses(words[1:])
		if err == nil {
			err = enrollment.CheckNodeName(words[0])
		}
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", i+1, err)
		}
		nodes = append(nodes, tokenNode{name: words[0], addresses: addresses})
	}
	return nodes, nil
}

func parseAddresses(texts []string) ([]netip.Prefix, error) {
	var addresses []netip.Prefix
	for _, text := range texts {
		address, err := enrollment.ParseAddress(text)
		if err != nil {
			return nil, err
		}
		addresses = append(addresses, address)
	}
	return addresses, nil
}
