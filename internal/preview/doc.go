// SPDX-License-Identifier: Apache-2.0

// Package preview contains the commands plan and preflight, which change nothing: what a join would do on this host,
// or on another one of which only facts are known, and whether it would be refused. Start reading at Show.
package preview
