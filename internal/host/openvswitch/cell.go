// SPDX-License-Identifier: Apache-2.0

package openvswitch

import "encoding/json"

// cellString returns a string cell, or "" for any other cell.
func cellString(cell json.RawMessage) string {
	var s string
	_ = json.Unmarshal(cell, &s) // an empty optional string is ["set", []]
	return s
}

// cellUUID returns the UUID in a cell with one row reference.
func cellUUID(cell json.RawMessage) string {
	_, value := cellTag(cell)
	return cellString(value)
}

// cellUUIDs returns the UUIDs in a cell with one or more row references.
func cellUUIDs(cell json.RawMessage) []string {
	kind, value := cellTag(cell)
	if kind == "uuid" {
		return []string{cellString(value)}
	}
	var members []json.RawMessage
	_ = json.Unmarshal(value, &members) // not a set: no members
	var found []string
	for _, member := range members {
		if kind, value := cellTag(member); kind == "uuid" {
			found = append(found, cellString(value))
		}
	}
	return found
}

// cellMap returns a cell with a map of strings.
func cellMap(cell json.RawMessage) map[string]string {
	_, value := cellTag(cell)
	var list [][2]string
	_ = json.Unmarshal(value, &list) // an empty map has no pairs
	if len(list) == 0 {
		return nil
	}
	found := map[string]string{}
	for _, pair := range list {
		found[pair[0]] = pair[1]
	}
	return found
}

func cellTag(cell json.RawMessage) (string, json.RawMessage) {
	var parts []json.RawMessage
	if json.Unmarshal(cell, &parts) != nil || len(parts) != 2 {
		return "", nil
	}
	return cellString(parts[0]), parts[1]
}
