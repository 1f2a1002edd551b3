// SPDX-License-Identifier: Apache-2.0

// Package command runs the host's commands. It is the only package that uses os/exec.
// Run covers most cases; Streaming is for commands that take minutes and report their
// progress line by line.
package command
