// SPDX-License-Identifier: Apache-2.0

package config

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/spf13/pflag"
)

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

// addCheck makes a flag accept only values that pass the check of the setting.
func addCheck(flag *pflag.Flag) {
	check := checks[flag.Name]
	if flag.Value.Type() == "bool" {
		check = checkBool
	}
	if check == nil {
		check = func(string) error { return nil }
	}
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
