package config

import (
	"slices"
	"strings"
)

// nearest finds the known name that somebody may have meant; "" when none is
// near.
func nearest(name string, known []string) string {
	plain := func(s string) string {
		return strings.ToLower(strings.NewReplacer("-", "", "_", "", ".", "").Replace(s))
	}
	best, least := "", max(2, len(name)/3)+1
	for _, candidate := range known {
		if d := distance(plain(name), plain(candidate)); d < least {
			best, least = candidate, d
		}
	}
	return best
}

// distance is how many letters have to be added, taken away, changed or swapped
// with their neighbours to make b of a (optimal string alignment).
func distance(a, b string) int {
	before := make([]int, len(b)+1)
	last := make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row := make([]int, len(b)+1)
		row[0] = i
		for j := 1; j <= len(b); j++ {
			change := last[j-1]
			if a[i-1] != b[j-1] {
				change++
			}
			row[j] = slices.Min([]int{last[j] + 1, row[j-1] + 1, change})
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last = last, row
	}
	return last[len(b)]
}
