// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"testing"
	"time"
)

func TestSummarize(t *testing.T) {
	began := time.Now()
	for _, test := range []struct {
		name    string
		answers string // one character per 10 ms: a for a response, - for none
		after   time.Duration
		want    Interruptions
	}{
		{"nothing wrong", "aaaa", time.Second, Interruptions{Sent: 4}},
		{"one lost", "aa-aa", time.Second, Interruptions{Sent: 5, Lost: 1, Count: 1, Longest: 20 * time.Millisecond}},
		{
			"two interruptions, the longer counts", "a-a---a", time.Second,
			Interruptions{Sent: 7, Lost: 4, Count: 2, Longest: 40 * time.Millisecond},
		},
		{"unanswered at first", "--aa", time.Second, Interruptions{Sent: 4, Lost: 2, Count: 1}},
		{"unanswered at the end", "aa--", time.Second, Interruptions{Sent: 4, Lost: 2, Count: 1, Unanswered: true}},
		{"never a response", "---", time.Second, Interruptions{Sent: 3, Lost: 3, Count: 1, Unanswered: true}},
		{"not due yet", "aa--", 40 * time.Millisecond, Interruptions{Sent: 2}},
		{"nothing sent", "", time.Second, Interruptions{}},
	} {
		t.Run(test.name, func(t *testing.T) {
			var sent []probeRequest
			for i, letter := range test.answers {
				sent = append(sent, probeRequest{at: began.Add(time.Duration(i) * probeEvery), answered: letter == 'a'})
			}
			if got := summarize(sent, began.Add(test.after)); got != test.want {
				t.Errorf("got %+v, want %+v", got, test.want)
			}
		})
	}
}
