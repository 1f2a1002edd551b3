package report

import (
	"errors"
	"fmt"
)

// Code is the exit status of the program.
type Code int

// The exit codes. Permanent ones do not restart the unit.
const (
	Done              Code = 0
	Failed            Code = 1
	Usage             Code = 2 // or input that cannot be read or is not valid
	Refused           Code = 3 // by preflight or admission
	CredentialRefused Code = 4 // 401, 511, expired
	ApprovalMissing   Code = 5
	NetworkRolledBack Code = 6
	RebootNeeded      Code = 7
	DriftFound        Code = 8
)

// Interrupted is the exit code after Ctrl-C, as shells have it.
const Interrupted Code = 130

// Failure is an error with an exit code and a remedy: what to do next.
type Failure struct {
	Code   Code
	Remedy string // as Remedy has it
	Err    error
}

// Error gives the cause; the remedy is shown beside it, not inside.
func (f *Failure) Error() string { return f.Err.Error() }

// Unwrap gives the cause.
func (f *Failure) Unwrap() error { return f.Err }

// Fail makes a Failure; format and args are as fmt.Errorf has them.
func Fail(code Code, remedy, format string, args ...any) error {
	return &Failure{Code: code, Remedy: remedy, Err: fmt.Errorf(format, args...)}
}

// CodeOf gives the exit code of an error: that of the outermost Failure in its
// chain, else Failed.
func CodeOf(err error) Code {
	if err == nil {
		return Done
	}
	var failure *Failure
	if errors.As(err, &failure) {
		return failure.Code
	}
	return Failed
}

// RemedyOf gives what to do next, or "".
func RemedyOf(err error) string {
	var failure *Failure
	if errors.As(err, &failure) {
		return failure.Remedy
	}
	return ""
}
