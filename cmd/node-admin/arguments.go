// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"

	"github.com/spf13/cobra"
)

// requireOne makes another number of arguments than one a usage error with a message.
func requireOne(message string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) != 1 {
			return errors.New(message)
		}
		return nil
	}
}

// requireSome makes a command line without an argument a usage error with a message.
func requireSome(message string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) == 0 {
			return errors.New(message)
		}
		return nil
	}
}
