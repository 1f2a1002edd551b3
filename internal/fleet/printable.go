// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"encoding/json"
	"strings"
	"time"
	"unicode"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"
)

// maxCellLength is the number of characters of a cell in a table that is not wide.
const maxCellLength = 60

// Printable returns the table for a terminal: times in the future relative to now, lists without brackets, and, unless
// it is wide, no long texts.
func (t Table) Printable(now time.Time, isWide bool) *metav1.Table {
	printable := &metav1.Table{ColumnDefinitions: t.Columns}
	for _, row := range t.Rows {
		cells := make([]any, 0, len(row.Cells))
		for i, cell := range row.Cells {
			if text, isText := cell.(string); isText {
				if i < len(t.Columns) && t.Columns[i].Format == "date-time" {
					text = untilExpiry(text, now)
				}
				cell = shorten(text, isWide)
			}
			cells = append(cells, cell)
		}
		printable.Rows = append(printable.Rows, metav1.TableRow{Cells: cells})
	}
	return printable
}

// untilExpiry returns the time until text, such as 87d, or "expired". It returns another text unchanged.
func untilExpiry(text string, now time.Time) string {
	expires, err := time.Parse(time.RFC3339, text)
	switch {
	case err != nil:
		return text
	case !now.Before(expires):
		return "expired"
	}
	return duration.HumanDuration(expires.Sub(now))
}

func shorten(text string, isWide bool) string {
	var list []string
	if json.Unmarshal([]byte(text), &list) == nil {
		text = strings.Join(list, ",")
	}
	if isWide {
		return Clean(text, maxTextLength)
	}
	return Clean(text, maxCellLength)
}

// maxTextLength limits the texts that a node or a controller has written, in characters.
const maxTextLength = 1024

// Clean returns a text of another party for a terminal: in one line, without control characters, and with at most
// limit characters.
func Clean(text string, limit int) string {
	const bytesPerCharacter = 4
	if maxBytes := (limit + 1) * bytesPerCharacter; len(text) > maxBytes {
		text = text[:maxBytes]
	}
	text = strings.Map(func(letter rune) rune {
		switch {
		case unicode.IsSpace(letter):
			return ' '
		case unicode.IsPrint(letter) && letter != unicode.ReplacementChar:
			return letter
		}
		return -1
	}, text)
	if letters := []rune(text); len(letters) > limit {
		return string(letters[:limit]) + "…"
	}
	return text
}
