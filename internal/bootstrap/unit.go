package bootstrap

import (
	"strings"

	"github.com/hcp-node-agent/hcp-node-agent/internal/crio"
)

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
