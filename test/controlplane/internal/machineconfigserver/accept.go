// SPDX-License-Identifier: Apache-2.0

package machineconfigserver

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// spec is a version of the Ignition specification without its patch number, which is ignored.
type spec struct{ major, minor int }

// A server of OpenShift 4.18 supports specs 3.1 to 3.4, and 2.2.
const (
	minMinor3 = 1
	maxMinor3 = 4
	minMinor2 = 2
)

// mediaType is one value of an Accept header, reduced to the parameters that the server
// evaluates.
type mediaType struct {
	subtype   string
	version   spec
	versioned bool
	quality   float64
}

// negotiate selects the spec by an Accept header; not ok means status 400. A client that does not
// request Ignition's media type with a version gets spec 2.2. Source: machine-config-operator,
// pkg/server/api.go.
func negotiate(accept string) (chosen spec, ok bool) {
	unsupported := false
	for _, value := range parseAccept(accept) {
		if value.subtype != "vnd.coreos.ignition+json" || !value.versioned {
			continue
		}
		switch requested := value.version; {
		case requested.major == 3 && requested.minor >= minMinor3:
			return spec{3, min(requested.minor, maxMinor3)}, true
		case requested.major == 2 && requested.minor >= minMinor2:
			return spec{2, minMinor2}, true
		}
		unsupported = true
	}
	return spec{2, minMinor2}, !unsupported
}

// parseAccept returns the values of an Accept header in order of preference. Invalid values are
// skipped.
func parseAccept(accept string) []mediaType {
	var list []mediaType
	for value := range strings.SplitSeq(accept, ",") {
		parts := strings.Split(value, ";")
		_, subtype, found := strings.Cut(strings.TrimSpace(parts[0]), "/")
		if !found {
			continue
		}
		m := mediaType{subtype: subtype, quality: 1}
		for _, part := range parts[1:] {
			switch name, value, _ := strings.Cut(strings.TrimSpace(part), "="); name {
			case "version":
				m.version, m.versioned = parseSpec(value)
			case "q":
				if quality, err := strconv.ParseFloat(value, 32); err == nil {
					m.quality = quality
				}
			}
		}
		list = append(list, m)
	}
	slices.SortStableFunc(list, func(a, b mediaType) int { return cmp.Compare(b.quality, a.quality) })
	return list
}

// parseSpec parses a semantic version, which has three numbers.
func parseSpec(text string) (spec, bool) {
	var numbers []int
	for part := range strings.SplitSeq(text, ".") {
		n, err := strconv.Atoi(part)
		if err != nil || n < 0 {
			return spec{}, false
		}
		numbers = append(numbers, n)
	}
	if len(numbers) != 3 {
		return spec{}, false
	}
	return spec{numbers[0], numbers[1]}, true
}
