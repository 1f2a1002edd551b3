package machineconfigserver

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// A spec of Ignition; the third number of a version never counts.
type spec struct{ major, minor int }

// What a server of OpenShift 4.18 can give: specs 3.1 to 3.4, and 2.2.
const (
	oldest3 = 1
	newest3 = 4
	oldest2 = 2
)

// mediaType is one value of an Accept header, as far as the server looks at it.
type mediaType struct {
	subtype   string
	version   spec
	versioned bool
	quality   float64
}

// negotiate chooses the spec by an Accept header; not ok is a 400. A client that
// does not name Ignition's media type with a version gets spec 2.2.
// Source: machine-config-operator, pkg/server/api.go.
func negotiate(accept string) (chosen spec, ok bool) {
	unsupported := false
	for _, value := range parseAccept(accept) {
		if value.subtype != "vnd.coreos.ignition+json" || !value.versioned {
			continue
		}
		switch asked := value.version; {
		case asked.major == 3 && asked.minor >= oldest3:
			return spec{3, min(asked.minor, newest3)}, true
		case asked.major == 2 && asked.minor >= oldest2:
			return spec{2, oldest2}, true
		}
		unsupported = true
	}
	return spec{2, oldest2}, !unsupported
}

// parseAccept lists the values of an Accept header, the best liked first. What
// cannot be read is passed over.
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

// parseSpec reads a semantic version, which has three numbers.
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
