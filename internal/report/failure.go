// SPDX-License-Identifier: Apache-2.0

package report

import (
	"context"
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
	Interrupted       Code = 130 // after Ctrl-C, as in shells
)

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

// UsageError returns a Failure for wrong usage or invalid input, whose remedy is the help of the command; format and
// args are those of fmt.Errorf.
func UsageError(format string, args ...any) error { return Fail(Usage, "", format, args...) }

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

// DescribedError is an error with a replaced message.
type DescribedError struct {
	Text string
	Err  error
}

// Error returns the replaced message.
func (d DescribedError) Error() string { return d.Text }

// Unwrap returns the original error.
func (d DescribedError) Unwrap() error { return d.Err }

// WaitError returns the error for a wait that ctx ended: failure if the deadline
// passed, and the cause of the cancellation otherwise.
func WaitError(ctx context.Context, failure error) error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return failure
	}
	return context.Cause(ctx)
}

// FailureAtDeadline returns failure if err only means that the deadline of ctx has passed,
// and err otherwise.
func FailureAtDeadline(ctx context.Context, err, failure error) error {
	var known *Failure
	if err == nil || ctx.Err() == nil || errors.As(err, &known) {
		return err
	}
	return WaitError(ctx, failure)
}

// ExplainInterruption describes a cancellation or timeout of ctx in a message with
// a remedy. Completed work is kept; the same command resumes it.
func ExplainInterruption(ctx context.Context, err error) error {
	const again = "# run the same command again to resume"
	var failure *Failure
	switch {
	case errors.As(err, &failure):
		return err
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return Fail(Failed, again+"; use --timeout DURATION to wait longer", "join timed out: %w", err)
	case errors.Is(ctx.Err(), context.Canceled):
		return Fail(Interrupted, again, "interrupted: %w", err)
	}
	return err
}

// ExitStatus describes an exit code.
type ExitStatus struct {
	Code    Code
	Short   string // for the list of all exit codes
	Meaning string // for the README, man pages and the reference
}

// ExitStatuses returns the table of exit codes. Help, man pages and documents are generated from
// it, and the restart settings of the unit follow it.
func ExitStatuses() []ExitStatus {
	return []ExitStatus{
		{Success, "done", "done"},
		{Failed, "failed", "failed"},
		{Usage, "usage or invalid input", "usage, or unreadable or invalid input"},
		{Refused, "refused by a check, nothing changed", "refused by a check; nothing was changed"},
		{CredentialRefused, "authentication failed", "authentication failed: the token is invalid, rotated or expired"},
		{ApprovalMissing, "CSR not approved", "timed out waiting for CSR approval"},
		{NetworkRolledBack, "network rolled back", "the network change was rolled back"},
		{RebootNeeded, "reboot required", "reboot required; then run the command again"},
		{DriftFound, "drift found", "drift found"},
		{ChangesPlanned, "changes planned", "changes planned (plan --detailed-exitcode)"},
		{Interrupted, "interrupted", "interrupted by a signal; run the command again to resume"},
	}
}
