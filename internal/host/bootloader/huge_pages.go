// SPDX-License-Identifier: Apache-2.0

package bootloader

import (
	"slices"
	"strings"
)

// hugePageKeys are the keys of huge pages, whose order matters: a number belongs to the size before it. The kernel
// ignores a size that is repeated, and its number (mm/hugetlb.c).
var hugePageKeys = []string{"default_hugepagesz", "hugepagesz", "hugepages"}

func isHugePages(key string) bool { return slices.Contains(hugePageKeys, key) }

// sizesOf returns the size of huge pages to which each word of a command line belongs, "" for the default size.
func sizesOf(words []string) []string {
	sizes := make([]string, 0, len(words))
	size := ""
	for _, word := range words {
		if key, value, _ := strings.Cut(plain(word), "="); isHugePages(key) && key != "hugepages" {
			size = value
		}
		sizes = append(sizes, size)
	}
	return sizes
}

// hugePages returns the number of pages of each size, as the kernel reads a command line, "" for none. The size
// "default" has the default size as number.
func hugePages(words []string) map[string]string {
	pages := map[string]string{}
	for i, size := range sizesOf(words) {
		key, value, _ := strings.Cut(words[i], "=")
		switch {
		case key == "default_hugepagesz" && pages["default"] == "":
			pages["default"] = value
		case key == "hugepages" && pages[size] == "":
			pages[size] = value
		case key == "hugepagesz" && pages[size] == "":
			pages[size] = "" // without a number so far
		}
	}
	return pages
}

// withoutHugePages returns words without the huge pages of the sizes that missing has, because the kernel would ignore
// the latter.
func withoutHugePages(words, missing []string) []string {
	var wanted, kept []string
	for i, size := range sizesOf(missing) {
		if isHugePages(Key(missing[i])) {
			wanted = append(wanted, size)
		}
	}
	for i, size := range sizesOf(words) {
		if key := Key(words[i]); key == "default_hugepagesz" || !isHugePages(key) || !slices.Contains(wanted, size) {
			kept = append(kept, words[i])
		}
	}
	return kept
}
