package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/hcp-node-agent/hcp-node-agent/internal/manual"
)

// common are the flags that every verb has.
type common struct {
	output  string
	log     string
	verbose bool
}

func commonFlags(flags *pflag.FlagSet) *common {
	var c common
	choice(flags, &c.output, "output", "o", "text", "`FORMAT` of what is printed: text or json", "text", "json")
	choice(flags, &c.log, "log-format", "", "auto", "`FORMAT` of the story: text for people, json for programs, or journal for systemd's journal with fields; "+
		"auto is journal for a service, else text", logFormats()...)
	flags.BoolVarP(&c.verbose, "verbose", "v", false, "tell every change of the host, too")
	return &c
}

func logFormats() []string { return []string{"auto", "text", "json", "journal"} }

// choice binds a flag that has one of a few values.
func choice(flags *pflag.FlagSet, value *string, name, short, preset, usage string, values ...string) {
	flags.StringVarP(value, name, short, preset, usage)
	manual.Choices(flags, name, values...)
}

// check tells what is wrong with them.
func (c common) check() error {
	return errors.Join(oneOf("output", c.output, "text", "json"), oneOf("log-format", c.log, logFormats()...))
}

func oneOf(flag, value string, values ...string) error {
	if slices.Contains(values, value) {
		return nil
	}
	return fmt.Errorf("--%s is %q; it can be %s", flag, value, strings.Join(values, " or "))
}
