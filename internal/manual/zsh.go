package manual

import (
	"fmt"
	"strings"
)

// Zsh is the completion for zsh, a file _NAME in a directory of $fpath.
func (t Tool) Zsh() string {
	var out strings.Builder
	function := "_" + t.Name
	fmt.Fprintf(&out, "#compdef %s\n# zsh completion for %s. Made by: %s completion zsh\n\n%s() {\n", t.Name, t.Name, t.Name, function)
	out.WriteString("    local -a verbs\n    if ((CURRENT == 2)); then\n        verbs=(\n")
	for _, w := range t.words() {
		fmt.Fprintf(&out, "            %s\n", zshQuote(w.Name+":"+w.Text))
	}
	out.WriteString("        )\n        _describe verb verbs\n        return\n    fi\n    local verb=$words[2]\n    case $verb in\n")
	for _, first := range t.firsts() {
		fmt.Fprintf(&out, "    %s)\n        if ((CURRENT == 3)); then\n            verbs=(\n", first)
		for _, v := range t.under(first) {
			fmt.Fprintf(&out, "                %s\n", zshQuote(strings.TrimPrefix(v.Name, first+" ")+":"+v.Does))
		}
		out.WriteString("            )\n            _describe verb verbs\n            return\n        fi\n        verb+=\" $words[3]\"\n        shift words\n        ((CURRENT--))\n        ;;\n")
	}
	out.WriteString("    esac\n    shift words\n    ((CURRENT--))\n    case $verb in\n")
	for _, v := range t.Verbs {
		fmt.Fprintf(&out, "    %s)\n        _arguments -s", pattern(v.Name))
		for _, f := range v.Flags {
			for _, spec := range zshFlag(f) {
				fmt.Fprintf(&out, " \\\n            %s", zshQuote(spec))
			}
		}
		out.WriteString(" \\\n            '(- *)'{-h,--help}'[show help]'")
		if v.Takes != "" {
			number := "1"
			if strings.Contains(v.Takes, "...") {
				number = "*"
			}
			fmt.Fprintf(&out, " \\\n            %s", zshQuote(number+":"+zshEscape(v.Takes)+":"+v.argument().zsh()))
		}
		out.WriteString("\n        ;;\n")
	}
	fmt.Fprintf(&out, "    esac\n}\n\n# Loaded by compinit the file is the function; by source it is not.\nif [[ $funcstack[1] == %s ]]; then\n    %s \"$@\"\nelse\n    compdef %s %s\nfi\n", function, function, function, t.Name)
	return out.String()
}

// zshFlag are the specifications of a flag, as _arguments has them.
func zshFlag(f Flag) []string {
	again := ""
	if f.List {
		again = "*"
	}
	end := "[" + zshEscape(f.Does) + "]"
	if f.Value == "" {
		return []string{"--" + f.Name + end}
	}
	end += ":" + zshEscape(f.Value) + ":" + f.argument().zsh()
	specs := []string{again + "--" + f.Name + "=" + end}
	if f.Short != "" {
		specs = append(specs, again+"-"+f.Short+"+"+end)
	}
	return specs
}

func (a argument) zsh() string {
	switch {
	case len(a.choices) > 0 && a.list:
		return "_sequence compadd - " + strings.Join(a.choices, " ")
	case len(a.choices) > 0:
		return "(" + strings.Join(a.choices, " ") + ")"
	case a.files:
		return "_files"
	case a.directories:
		return "_files -/"
	case a.interfaces:
		return "_net_interfaces"
	}
	return " "
}

// zshEscape is for what ends at a bracket or a colon.
func zshEscape(text string) string {
	return strings.NewReplacer(`\`, `\\`, "[", `\[`, "]", `\]`, ":", `\:`).Replace(text)
}

// zshQuote makes one word of a text.
func zshQuote(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }
