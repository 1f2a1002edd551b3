// SPDX-License-Identifier: Apache-2.0

// Package cli contains the parts of the command line that hcp-node-agent and hcp-node-admin share:
// output, common flags, help, completions, exit codes and generated documentation.
package cli
