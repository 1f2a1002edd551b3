package entries

import (
	"path"
	"strings"
)

// install takes the rules of the [Install] sections of a unit file or drop-in.
func (u *unitInfo) install(content []byte) {
	stem := strings.TrimSuffix(u.name, path.Ext(u.name))
	prefix, instance, _ := strings.Cut(stem, "@")
	specifiers := strings.NewReplacer("%%", "%", "%n", u.name, "%N", stem, "%p", prefix, "%i", instance)
	for _, option := range installOptions(string(content)) {
		words := strings.Fields(strings.ReplaceAll(option.value, `"`, ""))
		switch option.name {
		case "Alias":
			if mayAlias(u.name) {
				u.aliases = listed(u.aliases, words)
			}
		case "WantedBy", "RequiredBy", "UpheldBy":
			u.wanted[option.name] = listed(u.wanted[option.name], words)
		case "Also":
			for _, word := range words {
				u.also = append(u.also, specifiers.Replace(word))
			}
		case "DefaultInstance":
			if _, _, is := cutInstance(u.name); !is {
				u.defaultInstance = specifiers.Replace(option.value)
			}
		}
	}
}

// listed is a list option as systemd reads it: it adds up, and an empty value
// begins anew.
func listed(list, words []string) []string {
	if len(words) == 0 {
		return nil
	}
	return append(list, words...)
}

type option struct{ name, value string }

// installOptions reads a file as systemd does. The parser that validates the
// units of a config refuses long lines, which a unit of the tree can have.
func installOptions(content string) []option {
	var options []option
	section, pending := "", ""
	for text := range strings.Lines(content) {
		text = strings.TrimSpace(text)
		if strings.HasPrefix(text, "#") || strings.HasPrefix(text, ";") {
			continue // also in the middle of a continued line
		}
		if continued, is := strings.CutSuffix(text, `\`); is {
			pending += continued + " "
			continue
		}
		text, pending = pending+text, ""
		if strings.HasPrefix(text, "[") && strings.HasSuffix(text, "]") {
			section = text
			continue
		}
		name, value, found := strings.Cut(text, "=")
		if found && section == "[Install]" {
			options = append(options, option{strings.TrimSpace(name), strings.TrimSpace(value)})
		}
	}
	return options
}
