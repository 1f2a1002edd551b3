// SPDX-License-Identifier: Apache-2.0

package config

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
	"github.com/hcp-node-agent/hcp-node-agent/internal/steps"
)

// checks contains the check of each setting that has one, by flag. A check of a list is applied
// to each element. Its errors complete a message that already contains the value.
var checks = map[string]func(text string) error{
	"endpoint":          optional(checkEndpoint),
	"nodepool":          optional(checkNodePool),
	"connect-to":        optional(checkHostPort),
	"ignition-override": checkNotEmpty,
	"payload-drop":      checkExclude,
	"bridge-interface":  optional(checkInterface),
	"verify-reach":      checkHostPort,
	"network-timeout":   checkNetworkTimeout,
	"node-label":        checkLabel,
	"node-taint":        checkTaint,
	"openshift-release": optional(checkRelease),
	"software":          OneOf(SoftwareSources()),

	"apply-host-settings": OneOf(HostSettingsValues()),

	"until":   OneOf(steps.UntilValues()),
	"timeout": checkTimeout,
	"skip":    OneOf(steps.SkipValues()),
}

// optional returns a check that also accepts "", the value of a setting that is not set.
func optional(check func(string) error) func(string) error {
	return func(text string) error {
		if text == "" {
			return nil
		}
		return check(text)
	}
}

// OneOf returns a check that accepts one of a few values.
func OneOf(values []string) func(string) error {
	return func(text string) error {
		if !slices.Contains(values, text) {
			return errors.New("must be one of " + strings.Join(values, ", "))
		}
		return nil
	}
}

func checkNotEmpty(text string) error {
	if text == "" {
		return errors.New("must not be empty")
	}
	return nil
}

func checkNodePool(text string) error {
	namespace, name, _ := strings.Cut(text, "/")
	if len(validation.IsDNS1123Label(namespace)) > 0 || len(validation.IsDNS1123Subdomain(name)) > 0 {
		return errors.New("must be NAMESPACE/NAME, such as clusters/demo-workers")
	}
	return nil
}

func checkRelease(text string) error {
	if !regexp.MustCompile(`^\d+\.\d+(\.\d+)?$`).MatchString(text) {
		return errors.New("must be a release such as 4.18")
	}
	return nil
}

func checkTimeout(text string) error {
	timeout, err := report.ParseDuration(text)
	if err == nil && timeout < 0 {
		return errors.New("must not be negative")
	}
	return err
}

// A network change takes two to ten seconds, and the checks after it up to a minute if an
// endpoint does not respond. If a host is unreachable for more than ten minutes,
// administrators start to drive to its site.
const (
	minNetworkTimeout = 30 * time.Second
	maxNetworkTimeout = 10 * time.Minute
)

func checkNetworkTimeout(text string) error {
	timeout, err := report.ParseDuration(text)
	if err == nil && (timeout < minNetworkTimeout || timeout > maxNetworkTimeout) {
		return fmt.Errorf("must be from %s to %s", minNetworkTimeout, maxNetworkTimeout)
	}
	return err
}

// checkedValue is the value of a setting. It accepts only texts that pass check.
type checkedValue struct {
	pflag.Value
	check func(text string) error
}

// Set sets the value, or returns an error that states what the text must be.
func (v checkedValue) Set(text string) error {
	if err := v.check(text); err != nil {
		return err
	}
	return v.Value.Set(text)
}

// checkedList is the value of a setting that is a list. Each element must pass check.
type checkedList struct {
	pflag.Value
	pflag.SliceValue
	check func(element string) error
}

// Set adds comma-separated elements. The first call replaces the default.
func (l checkedList) Set(text string) error {
	if err := l.Value.Set(text); err != nil {
		return err
	}
	for _, element := range l.GetSlice() {
		if err := l.check(element); err != nil && element != text {
			return fmt.Errorf("%q: %w", element, err)
		} else if err != nil {
			return err
		}
	}
	return nil
}

// Append adds one element.
func (l checkedList) Append(element string) error {
	if err := l.check(element); err != nil {
		return err
	}
	return l.SliceValue.Append(element)
}

// AddCheck makes a flag accept only values, or elements of a list, that pass a check.
func AddCheck(flag *pflag.Flag, check func(text string) error) {
	if list, isList := flag.Value.(pflag.SliceValue); isList {
		flag.Value = checkedList{Value: flag.Value, SliceValue: list, check: check}
		flag.DefValue = "" // pflag omits [] from the help only for its own types
		return
	}
	flag.Value = checkedValue{Value: flag.Value, check: check}
}

func checkBool(text string) error {
	if _, err := strconv.ParseBool(text); err != nil {
		return errors.New("must be true or false")
	}
	return nil
}
