// SPDX-License-Identifier: Apache-2.0

// Package report distributes a stream of events to several outputs: terminal, pipe, JSON
// and systemd. It also defines the error type that carries an exit code and a remedy.
package report
