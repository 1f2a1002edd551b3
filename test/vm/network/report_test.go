// SPDX-License-Identifier: Apache-2.0

//go:build vm

package network

import (
	"fmt"
	"io"
	"testing"
	"text/tabwriter"
)

// resultRow is the result for one kind.
type resultRow struct {
	kind, change, leave string
	afterMove, afterBoot, afterLeave,
	test string
}

// rows are the results of this run in order.
var rows []*resultRow

func newRow(t *testing.T, kind string) *resultRow {
	r := &resultRow{kind: kind, change: "-", leave: "-", afterMove: "-", afterBoot: "-", afterLeave: "-"}
	rows = append(rows, r)
	t.Cleanup(func() {
		r.test = "passed"
		if t.Failed() {
			r.test = "FAILED"
		}
	})
	return r
}

// setChanged records the worst result of several checks.
func (r *resultRow) setChanged(same bool) bool {
	if r.afterMove != stateWord(false) {
		r.afterMove = stateWord(same)
	}
	return same
}

func (r *resultRow) setRebooted(same bool) { r.afterBoot = stateWord(same) }
func (r *resultRow) setLeft(same bool)     { r.afterLeave = stateWord(same) }

func stateWord(same bool) string {
	if same {
		return "same"
	}
	return "DIFFERS"
}

// printRows prints the table of results.
func printRows(w io.Writer) {
	if len(rows) == 0 {
		return
	}
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table,
		"kind\tinterruption by join\tstate after\tafter a reboot\tinterruption by leave\tstate after\ttest")
	for _, r := range rows {
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", r.kind, r.change, r.afterMove, r.afterBoot, r.leave, r.afterLeave,
			r.test)
	}
	_ = table.Flush() // standard output
}
