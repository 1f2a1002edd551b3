package config

import (
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

// Every setting that a flag has, the file has too, and each has its own.
func TestKeys(t *testing.T) {
	keys := Keys()
	flags := pflag.NewFlagSet("all", pflag.ContinueOnError)
	Flags(flags, &Join{})
	seen := map[string]bool{}
	flags.VisitAll(func(flag *pflag.Flag) {
		key := keys[flag.Name]
		if key == "" || seen[key] {
			t.Errorf("--%s is %q in the file", flag.Name, key)
		}
		seen[key] = true
	})
	for flag, want := range map[string]string{
		"user-data": "userData", "payload-drop": "payload.drop", "node-label": "nodeLabels", "network-timeout": "networkTimeout", "keep-bootstrap": "keepBootstrap",
	} {
		if keys[flag] != want {
			t.Errorf("--%s is %q in the file, want %q", flag, keys[flag], want)
		}
	}
	if got := Variable("user-data"); got != "HCP_NODE_AGENT_USER_DATA" || !strings.HasPrefix(got, EnvironmentPrefix) {
		t.Errorf("the variable is %s", got)
	}
}
