// SPDX-License-Identifier: Apache-2.0

package packetfilter

import (
	"slices"
	"strings"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/openvswitch"
)

// isMark reports whether an expression is the mark of the packet or of its connection. They count as one: rules
// usually copy the one to the other.
func isMark(left statement) bool {
	return asObject(left["meta"])["key"] == "mark" || asObject(left["ct"])["key"] == "mark"
}

// setsMark reports whether a value that a rule sets as mark can be another one than 0 if there is no mark yet.
func setsMark(value any) bool {
	if number, ok := value.(float64); ok {
		return number != 0
	}
	object := asObject(value)
	for operator, operands := range object {
		switch list := asList(operands); operator {
		case "&":
			return !slices.ContainsFunc(list, func(operand any) bool { return !setsMark(operand) })
		case "|", "^":
			return slices.ContainsFunc(list, setsMark)
		}
	}
	return !isMark(object)
}

// operand returns the first operand of an expression with a mask, and the mask.
func operand(left statement) (statement, any) {
	if list := asList(left["&"]); len(list) == 2 {
		return asObject(list[0]), list[1]
	}
	return nil, nil
}

// tcpFlags returns the flags of the packet that a mask keeps, and false if an expression is not the flags.
func (p packet) tcpFlags(left statement) ([]string, bool) {
	flags := []string{"syn"}
	if p.response {
		flags = append(flags, "ack")
	}
	if masked, mask := operand(left); masked != nil {
		left = masked
		flags = slices.DeleteFunc(flags, func(flag string) bool { return !slices.Contains(flagNames(mask), flag) })
	}
	header := asObject(left["payload"])
	return flags, header["protocol"] == "tcp" && header["field"] == "flags"
}

// flagNames returns the names in a value of flags.
func flagNames(value any) []string {
	if name, ok := value.(string); ok {
		return []string{name}
	}
	var names []string
	for _, element := range append(asList(value), asList(asObject(value)["|"])...) {
		names = append(names, flagNames(element)...)
	}
	return names
}

// matchFlags evaluates a comparison of the flags of the packet.
func matchFlags(op any, flags []string, right any) truth {
	isEqual := func(value any) bool {
		names := flagNames(value)
		return len(names) == len(flags) && !slices.ContainsFunc(flags, func(flag string) bool {
			return !slices.Contains(names, flag)
		})
	}
	hasAny := slices.ContainsFunc(flagNames(right), func(name string) bool { return slices.Contains(flags, name) })
	isSame := isEqual(right)
	if set := asList(asObject(right)["set"]); set != nil {
		isSame = slices.ContainsFunc(set, isEqual)
	}
	switch op {
	case "==":
		return truthOf(isSame)
	case "!=":
		return truthOf(!isSame)
	case "in":
		return truthOf(hasAny)
	case "!":
		return truthOf(!hasAny)
	}
	return maybe
}

// masked evaluates whether an expression with a mask has a value.
func (e evaluation) masked(left statement, right any) truth {
	inner, _ := operand(left)
	switch {
	case isMark(inner) && !*e.isMarked, asObject(inner["payload"])["field"] == "frag-off":
		return truthOf(right == float64(0)) // a first packet is not fragmented
	}
	return maybe
}

// isOfPeer evaluates a condition that identifies the other host, which a rule names as source or destination.
func (p packet) isOfPeer(as any) truth {
	if p.Unlisted && (as == "src") != p.response {
		return no
	}
	return maybe
}

// ofLink evaluates a property of the interface other than its name. Those of br-ex are known before it exists.
func (e evaluation) ofLink(property string, right any, has bool) truth {
	switch {
	case !has:
		return no
	case e.Link != openvswitch.ExternalBridge:
	case strings.HasSuffix(property, "group"):
		return truthOf(right == "default" || right == float64(0))
	case strings.HasSuffix(property, "kind"):
		return truthOf(right == "openvswitch")
	}
	return maybe
}
