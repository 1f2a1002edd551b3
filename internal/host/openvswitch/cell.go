package openvswitch

import "encoding/json"

// text returns a string cell, or "" for any other cell.
func text(cell json.RawMessage) string {
	var s string
	_ = json.Unmarshal(cell, &s) // an empty optional string is ["set", []]
	return s
}

// uuid returns the UUID in a cell with one row reference.
func uuid(cell json.RawMessage) string {
	_, value := tagged(cell)
	return text(value)
}

// uuids returns the UUIDs in a cell with one or more row references.
func uuids(cell json.RawMessage) []string {
	kind, value := tagged(cell)
	if kind == "uuid" {
		return []string{text(value)}
	}
	var members []json.RawMessage
	_ = json.Unmarshal(value, &members) // not a set: no members
	var found []string
	for _, member := range members {
		if kind, value := tagged(member); kind == "uuid" {
			found = append(found, text(value))
		}
	}
	return found
}

// pairs returns a cell with a map of strings.
func pairs(cell json.RawMessage) map[string]string {
	_, value := tagged(cell)
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

func tagged(cell json.RawMessage) (string, json.RawMessage) {
	var parts []json.RawMessage
	if json.Unmarshal(cell, &parts) != nil || len(parts) != 2 {
		return "", nil
	}
	return text(parts[0]), parts[1]
}
