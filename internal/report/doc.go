// Package report is one stream of events with several faces: a terminal, a
// pipe, JSON, systemd. It also holds the error that carries an exit code and
// the next command to type.
package report
