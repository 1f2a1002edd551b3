// SPDX-License-Identifier: Apache-2.0

package enroll

import (
	"errors"
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strings"

	"github.com/hcp-node-agent/hcp-node-agent/internal/enrollment"
	"github.com/hcp-node-agent/hcp-node-agent/internal/lists"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// Node is a node to enroll.
type Node struct {
	Name      string
	Addresses []netip.Prefix
	Serial    string // of the machine, by which it finds its entry in a file for all hosts; "" if unknown
}

// ids returns what identifies the machine of the node.
func (n Node) ids() []string {
	if n.Serial != "" {
		return []string{n.Serial}
	}
	var ids []string
	for _, address := range n.Addresses {
		if address.IsSingleIP() {
			ids = append(ids, address.Addr().String())
		}
	}
	return ids
}

var serials = regexp.MustCompile(`^[A-Za-z0-9._-]+$`)

// ParseNode parses a node in the form NAME[=ADDRESS,...]. An address can be a CIDR, or the serial number of the machine
// in the form serial=SERIAL.
func ParseNode(text string) (Node, error) {
	name, addresses, hasAddresses := strings.Cut(text, "=")
	var list []string
	if hasAddresses {
		list = strings.Split(addresses, ",")
	}
	return newNode(name, list)
}

// ParseNodes parses lines with the name of a node and its addresses. Text after # is a comment.
func ParseNodes(content []byte) ([]Node, error) {
	var nodes []Node
	for i, line := range strings.Split(string(content), "\n") {
		text, _, _ := strings.Cut(line, "#")
		words := strings.Fields(text)
		if len(words) == 0 {
			continue
		}
		node, err := newNode(words[0], words[1:])
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", i+1, err)
		}
		nodes = append(nodes, node)
	}
	return nodes, nil
}

func newNode(name string, texts []string) (Node, error) {
	node := Node{Name: name}
	for _, text := range texts {
		if serial, isSerial := strings.CutPrefix(text, "serial="); isSerial {
			if !serials.MatchString(serial) {
				return node, fmt.Errorf("serial number %q: must consist of letters, digits, and the characters . _ -", serial)
			}
			node.Serial = serial
			continue
		}
		address, err := enrollment.ParseAddress(text)
		if err != nil {
			return node, err
		}
		node.Addresses = append(node.Addresses, address)
	}
	return node, enrollment.CheckNodeName(name)
}

// checkNodes fails if two nodes have the same name or the same address. It returns warnings for names that hosts
// usually do not have: a join token is valid only for the host with the name of the node.
func checkNodes(nodes []Node) ([]report.Finding, error) {
	if len(nodes) == 0 {
		return nil, errors.New("no node is given")
	}
	var findings []report.Finding
	names, owners, machines := map[string]bool{}, map[netip.Prefix]string{}, map[string]string{}
	for _, node := range nodes {
		if other := machines[node.Serial]; other != "" && node.Serial != "" {
			return nil, fmt.Errorf("%s and %s have the same serial number %s", other, node.Name, node.Serial)
		}
		machines[node.Serial] = node.Name
		if names[node.Name] {
			return nil, fmt.Errorf("node %s is listed twice", node.Name)
		}
		names[node.Name] = true
		for _, address := range node.Addresses {
			if owner := owners[address]; owner != "" && address.IsSingleIP() {
				return nil, fmt.Errorf("%s and %s have the same address %s", owner, node.Name, address.Addr())
			}
			owners[address] = node.Name
		}
		if problem := describeName(node.Name, nodes); problem != "" {
			findings = append(findings, warning("name", problem,
				"# the name of a node is that which the command hostname prints on its host"))
		}
	}
	return findings, nil
}

// describeName returns why a name is probably not the name of a host, "" if it can be.
func describeName(name string, nodes []Node) string {
	_, err := netip.ParseAddr(name)
	others := len(slices.DeleteFunc(slices.Clone(nodes), func(node Node) bool {
		return !strings.Contains(node.Name, ".")
	}))
	switch {
	case err == nil:
		return name + " is an IP address, not the name of a host"
	case name == "localhost" || strings.HasPrefix(name, "localhost."):
		return name + " is the name of a host that has no name yet"
	case !strings.Contains(name, ".") && others == 1:
		return name + " has no domain, but another node has one"
	case !strings.Contains(name, ".") && others > 1:
		return fmt.Sprintf("%s has no domain, but %d other nodes have one", name, others)
	}
	return ""
}

func warning(check, message string, remedy report.Remedy) report.Finding {
	return report.Finding{Severity: report.SeverityWarning, Check: check, Message: message, Remedy: remedy}
}

// sameAddresses reports whether two lists contain the same addresses.
func sameAddresses(a, b []string) bool {
	return len(a) == len(b) && len(lists.AppendMissing(slices.Clone(a), b...)) == len(a)
}
