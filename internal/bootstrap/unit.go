package bootstrap

import (
	"slices"
	"strings"

	"github.com/coreos/go-systemd/v22/unit"

	"github.com/hcp-node-agent/hcp-node-agent/internal/crio"
)

// stays tells whether a unit is one that the machine starts at boot and that
// then stays active, so that it can be started now and found active later.
func stays(contents string) bool {
	options, err := unit.DeserializeOptions(strings.NewReader(contents))
	if err != nil {
		return false
	}
	values := map[string][]string{}
	for _, option := range options {
		values[option.Section+"."+option.Name] = append(values[option.Section+"."+option.Name], strings.Fields(option.Value)...)
	}
	boot := slices.ContainsFunc(values["Install.WantedBy"], func(target string) bool {
		return target == "multi-user.target" || target == "default.target"
	})
	oneshot := slices.Contains(values["Service.Type"], "oneshot")
	remains := slices.Contains(values["Service.RemainAfterExit"], "yes") || slices.Contains(values["Service.RemainAfterExit"], "true")
	return boot && len(values["Service.ExecStart"]) > 0 && (!oneshot || remains)
}

// runtimeOf reads which container runtime one CRI-O file makes the default.
func runtimeOf(content []byte) string {
	config, err := crio.Parse(content)
	if err != nil {
		return "" // CRI-O itself refuses the file with a better sentence
	}
	return config.Runtime
}

func lastWord(text string) string {
	words := strings.Fields(text)
	if len(words) == 0 {
		return ""
	}
	return words[len(words)-1]
}
