// SPDX-License-Identifier: Apache-2.0

// Package bootloader reads and changes the kernel arguments with which the host boots.
package bootloader

import (
	"context"
	"slices"
	"strings"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host/command"
)

// BootLoader reads and changes the kernel arguments of the next boot. An argument is one word.
type BootLoader interface {
	// Arguments returns the arguments of the default kernel in their order.
	Arguments(ctx context.Context) ([]string, error)
	// Change adds and removes arguments of all kernels, including kernels that are installed
	// later. Added arguments replace those with the same keys.
	Change(ctx context.Context, add, remove []string) error
}

// Find returns the configuration tool of the host's boot loader, nil if it is not installed. In image mode, the
// arguments belong to a deployment.
func Find(imageMode bool) BootLoader {
	switch {
	case imageMode && command.Exists("rpm-ostree"):
		return rpmOSTree{}
	case !imageMode && command.Exists("grubby"):
		return grubby{}
	}
	return nil
}

// IsSet reports whether words contain all words of an argument, which can consist of several.
// Quotation marks are ignored, because boot loaders differ in them.
func IsSet(words []string, argument string) bool {
	for word := range strings.FieldsSeq(argument) {
		if !slices.ContainsFunc(words, func(have string) bool { return plain(have) == plain(word) }) {
			return false
		}
	}
	return true
}

func plain(word string) string { return strings.ReplaceAll(word, `"`, "") }

// Missing returns the words to add so that all arguments are set. An argument can consist of
// several words whose order matters, such as hugepagesz=1G hugepages=4. Because grubby replaces
// existing words with the key of an added one, the result also contains the arguments that share a
// key with a missing one.
func Missing(words, arguments []string) []string {
	selected := make([]bool, len(arguments))
	var keys []string
	for changed := true; changed; {
		changed = false
		for i, argument := range arguments {
			if selected[i] || (IsSet(words, argument) && !HasKey(argument, keys)) {
				continue
			}
			selected[i], changed = true, true
			keys = append(keys, KeysOf(strings.Fields(argument))...)
		}
	}
	var missing []string
	for i, argument := range arguments {
		if selected[i] {
			missing = append(missing, strings.Fields(argument)...)
		}
	}
	return missing
}

// KeysOf returns the keys of words: the names of arguments without their values.
func KeysOf(words []string) []string {
	var keys []string
	for _, word := range words {
		keys = append(keys, key(word))
	}
	return keys
}

// HasKey reports whether a word of an argument has one of the keys.
func HasKey(argument string, keys []string) bool {
	return slices.ContainsFunc(strings.Fields(argument),
		func(word string) bool { return slices.Contains(keys, key(word)) })
}

// key returns the name of an argument.
func key(word string) string {
	key, _, _ := strings.Cut(word, "=")
	return key
}
