// SPDX-License-Identifier: Apache-2.0

package openvswitch

import "encoding/json"

// The cells in the JSON format of ovs-vsctl that are not strings (RFC 7047, 5.1).

// reference is a reference to a row: ["uuid", U].
type reference string

// UnmarshalJSON parses a cell.
func (r *reference) UnmarshalJSON(cell []byte) error {
	var tag string
	return json.Unmarshal(cell, &[]any{&tag, (*string)(r)})
}

// references are any number of references: a single one, or ["set", [R, ...]].
type references []reference

// UnmarshalJSON parses a cell.
func (r *references) UnmarshalJSON(cell []byte) error {
	var one reference
	if json.Unmarshal(cell, &one) == nil {
		*r = references{one}
		return nil
	}
	var tag string
	return json.Unmarshal(cell, &[]any{&tag, (*[]reference)(r)})
}

// pairs are a map: ["map", [[K, V], ...]].
type pairs map[string]string

// UnmarshalJSON parses a cell.
func (p *pairs) UnmarshalJSON(cell []byte) error {
	var tag string
	var list [][2]string
	err := json.Unmarshal(cell, &[]any{&tag, &list})
	*p = pairs{}
	for _, pair := range list {
		(*p)[pair[0]] = pair[1]
	}
	return err
}
