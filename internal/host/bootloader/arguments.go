// SPDX-License-Identifier: Apache-2.0

package bootloader

import (
	"slices"
	"strings"
	"unicode"

	"github.com/hcp-node-agent/hcp-node-agent/internal/lists"
)

// A kernel command line is a list of words, in which keys repeat and order matters. The functions in this file keep
// what the host needs: like the machine-config-daemon, they append arguments, and remove only those that the payload
// removes, and other values of keys of which one value is meant.

// Next returns the words of a kernel command line, changed so that it has the arguments in add and not those in remove.
// An argument can consist of several words. Next returns equal words if nothing has to be changed.
func Next(words, add, remove []string) []string {
	for _, argument := range remove {
		if Contains(words, argument) {
			words = without(words, func(word string) bool {
				return slices.ContainsFunc(Split(argument), func(gone string) bool { return plain(gone) == plain(word) })
			})
		}
	}
	var missing []string
	for i, isSet := range AreSet(words, add) {
		if !isSet {
			missing = append(missing, Split(add[i])...)
		}
	}
	words = without(withoutHugePages(words, missing), func(word string) bool {
		return hasSingleValue(Key(word)) && slices.Contains(KeysOf(missing), Key(word))
	})
	return slices.Concat(words, missing)
}

// Split returns the words of a kernel command line. As for the kernel (next_arg in lib/cmdline.c), a word ends at a
// space outside of quotation marks.
func Split(line string) []string {
	isQuoted := false
	return strings.FieldsFunc(line, func(r rune) bool {
		if r == '"' {
			isQuoted = !isQuoted
		}
		return !isQuoted && unicode.IsSpace(r)
	})
}

// Contains reports whether words contain all words of the argument. Quotation marks are ignored: boot loaders add them.
func Contains(words []string, argument string) bool {
	return !slices.ContainsFunc(Split(argument), func(word string) bool {
		return !slices.ContainsFunc(words, func(have string) bool { return plain(have) == plain(word) })
	})
}

// ContainInOrder reports whether words contain all words of the arguments, in this order. Other words may follow, as a
// boot loader adds them to its entry.
func ContainInOrder(words, arguments []string) bool {
	return isSubsequence(plainWords(Split(strings.Join(arguments, " "))), plainWords(words))
}

// isSubsequence reports whether a list contains the words of another one in their order.
func isSubsequence(words, list []string) bool {
	for _, word := range list {
		if len(words) > 0 && word == words[0] {
			words = words[1:]
		}
	}
	return len(words) == 0
}

// AreSet reports for each argument whether words have it. Arguments with a common key belong together: words must
// contain all their words, in this order and as often. Of a key with one effective value, this value must be the last.
func AreSet(words, arguments []string) []bool {
	set, done := make([]bool, len(arguments)), make([]bool, len(arguments))
	for i := range arguments {
		if done[i] {
			continue
		}
		members, keys := linked(arguments, i)
		var wanted []string
		for _, at := range members {
			done[at] = true
			wanted = append(wanted, Split(arguments[at])...)
		}
		isSet := areSet(words, wanted, keys)
		for _, at := range members {
			set[at] = isSet
		}
	}
	return set
}

// linked returns the indexes of the arguments that belong together with the one at first, and their keys.
func linked(arguments []string, first int) (members []int, keys []string) {
	keys = linkedKeys(arguments[first])
	for count := 0; count < len(keys); {
		count, members = len(keys), nil
		for i, argument := range arguments {
			of := linkedKeys(argument)
			if slices.ContainsFunc(of, func(key string) bool { return slices.Contains(keys, key) }) {
				members = append(members, i)
				keys = lists.AppendMissing(keys, of...)
			}
		}
	}
	return members, keys
}

// linkedKeys returns the keys of an argument, and those whose words count only together with them.
func linkedKeys(argument string) []string {
	keys := KeysOf(Split(argument))
	if slices.ContainsFunc(keys, isHugePages) {
		keys = append(keys, hugePageKeys...)
	}
	return lists.AppendMissing(nil, keys...)
}

// areSet reports whether words contain the wanted ones, which have these keys.
func areSet(words, wanted, keys []string) bool {
	have := without(words, func(word string) bool { return !slices.Contains(keys, Key(word)) })
	have, wanted = plainWords(have), plainWords(wanted)
	if slices.ContainsFunc(keys, isHugePages) {
		pages := hugePages(have)
		for size, count := range hugePages(wanted) {
			if now, found := pages[size]; !found || (count != "" && now != count) {
				return false
			}
		}
		return true
	}
	if !isSubsequence(wanted, have) {
		return false
	}
	for _, k := range keys {
		if !accumulates(k) && last(have, k) != last(wanted, k) {
			return false
		}
	}
	return true
}

func last(words []string, k string) string {
	of := without(words, func(word string) bool { return Key(word) != k })
	if len(of) == 0 {
		return ""
	}
	return of[len(of)-1]
}

func without(words []string, isGone func(word string) bool) []string {
	return slices.DeleteFunc(slices.Clone(words), isGone)
}

// accumulates reports whether the kernel, dracut or systemd uses all values of a key, in any order. Of other keys, the
// last value decides; of console it becomes /dev/console.
func accumulates(key string) bool {
	return strings.HasPrefix(key, "rd.") || isHugePages(key) || slices.Contains([]string{
		"ip", "nameserver", "vlan", "bond", "team", "bridge", "ifname", "netroot", "earlycon", "module_blacklist",
		"modprobe.blacklist", "systemd.mask", "systemd.wants", "systemd.setenv",
	}, key)
}

// hasSingleValue reports whether a new value of a key replaces the others. In doubt, it is appended. The kernel ignores
// a second default_hugepagesz, and CPUs that differ from those of an earlier isolcpus or nohz_full.
func hasSingleValue(key string) bool {
	return slices.Contains([]string{
		"psi", "crashkernel", "mitigations", "nosmt", "selinux", "enforcing", "audit", "default_hugepagesz",
		"transparent_hugepage", "isolcpus", "nohz_full", "systemd.unified_cgroup_hierarchy",
		"systemd.legacy_systemd_cgroup_controller",
	}, key)
}

// difference returns the keys of which from and to have different words. The boot loader replaces all words of a key.
func difference(from, to []string) []string {
	var keys []string
	for _, k := range lists.AppendMissing(nil, lists.Map(slices.Concat(from, to), literalKey)...) {
		isOther := func(word string) bool { return literalKey(word) != k }
		if !slices.Equal(without(from, isOther), without(to, isOther)) {
			keys = append(keys, k)
		}
	}
	if slices.ContainsFunc(keys, isHugePages) {
		keys = lists.AppendMissing(keys, hugePageKeys...)
	}
	return keys
}

// plain returns the word without quotation marks, and with underscores in its key. The kernel (parameq in
// kernel/params.c) and systemd take a hyphen there for an underscore.
func plain(word string) string {
	word = strings.ReplaceAll(word, `"`, "")
	key := literalKey(word)
	return strings.ReplaceAll(key, "-", "_") + word[len(key):]
}

func plainWords(words []string) []string { return lists.Map(words, plain) }

// KeysOf returns the keys of words: the text before an equals sign, with underscores.
func KeysOf(words []string) []string { return lists.Map(words, Key) }

// Key returns the key of a word, with underscores.
func Key(word string) string { return literalKey(plain(word)) }

// literalKey returns the key of a word as it is written, by which boot loaders compare words.
func literalKey(word string) string {
	key, _, _ := strings.Cut(strings.TrimPrefix(word, `"`), "=")
	return key
}

// HaveSameWords reports whether two kernel command lines contain the same words, each as often, in any order.
func HaveSameWords(a, b []string) bool { return len(a) == len(b) && len(Removed(a, b)) == 0 }

// Removed returns the words in from that are not in to as often.
func Removed(from, to []string) []string {
	var removed []string
	left := slices.Clone(to)
	for _, word := range from {
		if at := slices.Index(left, word); at >= 0 {
			left = slices.Delete(left, at, at+1)
		} else {
			removed = append(removed, word)
		}
	}
	return removed
}
