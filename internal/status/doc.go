// SPDX-License-Identifier: Apache-2.0

// Package status gathers the state of the node for the status command.
package status
