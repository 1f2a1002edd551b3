package bootstrap

import (
	"strings"

	"github.com/hcp-node-agent/hcp-node-agent/internal/crio"
)

// parseRuntime returns the default container runtime in one CRI-O configuration
// file.
func parseRuntime(content []byte) string {
	config, err := crio.Parse(content)
	if err != nil {
		return "" // CRI-O rejects the file with a better message
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
