// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"io"
	"log/slog"
	"strings"
)

// Lines is a Sink for pipes and files: one line with a timestamp for each event, and for each line
// of a remedy. The remedy of a repeated message is not printed again.
//
//	2026-11-23T10:15:02Z network             ok        eth0 is attached to br-ex (9.5s)
type Lines struct {
	W     io.Writer
	Level slog.Level // events below it are not printed
}

// Emit prints one event. The start of a step is not printed, unless details are.
func (l *Lines) Emit(event Event) {
	if levelOf(event) < l.Level || event.Kind == CommandFailed { // the command prints its failure itself
		return
	}
	message := Escape(message(event))
	if len(event.Causes) > 0 {
		message = Escape(countCauses(event.Message, event.Causes))
	}
	if event.Elapsed > 0 {
		message += fmt.Sprintf(" (%s)", formatSeconds(event.Elapsed))
	}
	l.print(event, string(event.Kind), message)
	if event.Kind == Waiting && event.Elapsed > 0 { // repeated by a Heartbeat
		return
	}
	if len(event.Causes) == 0 {
		l.printRemedy(event, event.Remedy)
	}
	for _, problem := range event.Causes {
		l.print(event, "problem", Escape(problem.Message))
		l.printRemedy(event, problem.Remedy)
	}
}

func (l *Lines) printRemedy(event Event, remedy Remedy) {
	for _, line := range remedy.Lines() {
		l.print(event, "remedy", Escape(line))
	}
}

func (l *Lines) print(event Event, status, message string) {
	line := fmt.Sprintf("%s %-*s %-*s %s", Timestamp(event.Time), stepWidth, Escape(event.Step), len(StepUnchanged),
		status, message)
	fmt.Fprintln(l.W, strings.TrimRight(line, " "))
}
