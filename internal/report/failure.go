// SPDX-License-Identifier: Apache-2.0

package report

import (
	"errors"
	"fmt"
)

// Code is an exit code of the program.
type Code int

// The exit codes. systemd does not restart the unit after a permanent one.
const (
	Success           Code = 0
	Failed            Code = 1
	Usage             Code = 2 // wrong usage, or invalid or unreadable input
	Refused           Code = 3 // by preflight or cluster checks
	CredentialRefused Code = 4 // HTTP 401 or 511, or expired
	ApprovalMissing   Code = 5
	NetworkRolledBack Code = 6
	RebootNeeded      Code = 7
	DriftFound        Code = 8
	ChangesPlanned    Code = 9
)

// Interrupted is the exit code after Ctrl-C, as in shells.
const Interrupted Code = 130

// Failure is an error with an exit code and a remedy.
type Failure struct {
	Code   Code
	Remedy Remedy
	Err    error
}

// Error returns the cause without the remedy, which outputs show separately.
func (f *Failure) Error() string { return f.Err.Error() }

// Unwrap returns the cause.
func (f *Failure) Unwrap() error { return f.Err }

// Fail returns a Failure; format and args are those of fmt.Errorf.
func Fail(code Code, remedy Remedy, format string, args ...any) error {
	return &Failure{Code: code, Remedy: remedy, Err: fmt.Errorf(format, args...)}
}

// AddRemedy returns err with its code, and with another remedy after its own.
func AddRemedy(err error, remedy Remedy) error {
	if own := RemedyOf(err); own != "" {
		remedy = own + "\n" + remedy
	}
	return Fail(CodeOf(err), remedy, "%w", err)
}

// CodeOf returns the exit code of the outermost Failure in the error's chain, or Failed if
// there is none.
func CodeOf(err error) Code {
	if err == nil {
		return Success
	}
	var failure *Failure
	if errors.As(err, &failure) {
		return failure.Code
	}
	return Failed
}

// RemedyOf returns the remedy of the outermost Failure in the error's chain, or "".
func RemedyOf(err error) Remedy {
	var failure *Failure
	if errors.As(err, &failure) {
		return failure.Remedy
	}
	return ""
}
