package config

import (
	"encoding/json"
	"strings"

	"github.com/spf13/pflag"
)

// Keys gives the name that each setting has in the file, by its flag: that of
// --payload-drop is payload.drop. A flag is set, and what has changed is its
// setting, so no second list has to be kept.
func Keys() map[string]string {
	names := pflag.NewFlagSet("names", pflag.ContinueOnError)
	Flags(names, &Join{})
	keys := map[string]string{}
	names.VisitAll(func(flag *pflag.Flag) {
		var join Join
		flags := pflag.NewFlagSet("probe", pflag.ContinueOnError)
		Flags(flags, &join)
		if flags.Set(flag.Name, probe(flag.Value.Type())) != nil {
			return
		}
		content, err := json.Marshal(join)
		if err != nil {
			return
		}
		keys[flag.Name] = onlyKey(content)
	})
	return keys
}

// Variable is the environment variable of a setting, by its flag.
func Variable(flag string) string {
	return EnvironmentPrefix + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// probe is a value that a flag of this type takes, and that is not its zero.
func probe(kind string) string {
	switch kind {
	case "bool":
		return "true"
	case "duration":
		return "1s"
	}
	return "1"
}

// onlyKey is the path to the one value of a document.
func onlyKey(content []byte) string {
	var object map[string]json.RawMessage
	if json.Unmarshal(content, &object) != nil || len(object) != 1 {
		return ""
	}
	for key, value := range object {
		if below := onlyKey(value); below != "" {
			return key + "." + below
		}
		return key
	}
	return ""
}
