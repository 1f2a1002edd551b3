package manual

import (
	"fmt"
	"slices"
	"strings"
)

// Bash is the completion for bash, 4.2 or later. It needs no bash-completion,
// but to be loaded by it.
func (t Tool) Bash() string {
	var out strings.Builder
	function := "_" + strings.ReplaceAll(t.Name, "-", "_")
	fmt.Fprintf(&out, "# bash completion for %s. Made by: %s completion bash\n\n%s() {\n", t.Name, t.Name, function)
	out.WriteString(`    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} verb=${COMP_WORDS[1]}
    # bash takes --flag=value apart at the sign.
    if [[ $cur == = ]]; then
        cur=
    elif [[ $prev == = ]]; then
        prev=${COMP_WORDS[COMP_CWORD-2]}
    fi
    COMPREPLY=()
    if ((COMP_CWORD == 1)); then
`)
	var words []string
	for _, w := range t.words() {
		words = append(words, w.Name)
	}
	fmt.Fprintf(&out, "        mapfile -t COMPREPLY < <(compgen -W '%s' -- \"$cur\")\n        return\n    fi\n", strings.Join(append(words, "--help", "--version"), " "))
	out.WriteString("    case $verb in\n")
	for _, first := range t.firsts() {
		seconds := strings.Join(t.seconds(first), " ")
		fmt.Fprintf(&out, "    %s)\n        if ((COMP_CWORD == 2)); then\n            mapfile -t COMPREPLY < <(compgen -W '%s' -- \"$cur\")\n            return\n        fi\n", first, seconds)
		out.WriteString("        verb+=\" ${COMP_WORDS[2]}\"\n        ;;\n")
	}
	out.WriteString("    esac\n    local kind= choices= flags=\n    case \"$verb:$prev\" in\n")
	for _, values := range t.valued() {
		fmt.Fprintf(&out, "    %s)\n        %s\n        ;;\n", strings.Join(values.patterns, "|\\\n    "), values.argument.bash())
	}
	out.WriteString("    *)\n        case $verb in\n")
	for _, v := range t.Verbs {
		var flags []string
		for _, f := range v.Flags {
			flags = append(flags, "--"+f.Name)
		}
		set := "flags='" + strings.Join(append(flags, "--help"), " ") + "'"
		if v.Takes != "" {
			set += "\n            " + v.argument().bash()
		}
		fmt.Fprintf(&out, "        %s)\n            %s\n            ;;\n", pattern(v.Name), set)
	}
	out.WriteString(`        esac
        if [[ $cur == -* ]]; then
            kind=choices choices=$flags
        fi
        ;;
    esac
    case $kind in
    choices) mapfile -t COMPREPLY < <(compgen -W "$choices" -- "$cur") ;;
    list)
        # One after another, each once.
        local done= word rest=
        if [[ $cur == *,* ]]; then
            done=${cur%,*},
        fi
        for word in $choices; do
            [[ ,$done == *,$word,* ]] || rest+=" $word"
        done
        mapfile -t COMPREPLY < <(compgen -P "$done" -W "$rest" -- "${cur##*,}")
        compopt -o nospace 2>/dev/null
        ;;
    files)
        mapfile -t COMPREPLY < <(compgen -f -- "$cur")
        compopt -o filenames 2>/dev/null
        ;;
    directories)
        mapfile -t COMPREPLY < <(compgen -d -- "$cur")
        compopt -o filenames 2>/dev/null
        ;;
    interfaces)
        mapfile -t COMPREPLY < <(cd /sys/class/net 2>/dev/null && compgen -f -- "$cur")
        ;;
    esac
}
`)
	return out.String() + fmt.Sprintf("complete -F %s %s\n", function, t.Name)
}

// valued are the flags that take the same kind of value.
type valued struct {
	patterns []string // VERB:--FLAG
	argument argument
}

func (t Tool) valued() []valued {
	var all []valued
	for _, v := range t.Verbs {
		for _, f := range v.Flags {
			if f.Value == "" {
				continue
			}
			a := f.argument()
			i := slices.IndexFunc(all, func(one valued) bool { return one.argument.bash() == a.bash() })
			if i < 0 {
				i, all = len(all), append(all, valued{argument: a})
			}
			all[i].patterns = append(all[i].patterns, pattern(v.Name)+":--"+f.Name)
			if f.Short != "" {
				all[i].patterns = append(all[i].patterns, pattern(v.Name)+":-"+f.Short)
			}
		}
	}
	return all
}

func pattern(verb string) string { return strings.ReplaceAll(verb, " ", `\ `) }

// bash sets what the end of the function completes by.
func (a argument) bash() string {
	switch {
	case len(a.choices) > 0 && a.list:
		return "kind=list choices='" + strings.Join(a.choices, " ") + "'"
	case len(a.choices) > 0:
		return "kind=choices choices='" + strings.Join(a.choices, " ") + "'"
	case a.files:
		return "kind=files"
	case a.directories:
		return "kind=directories"
	case a.interfaces:
		return "kind=interfaces"
	}
	return ":"
}
