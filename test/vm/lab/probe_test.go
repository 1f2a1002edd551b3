package lab

import (
	"testing"
	"time"
)

func TestGapsOf(t *testing.T) {
	began := time.Now()
	for _, test := range []struct {
		name    string
		answers string // one character per 10 ms: a for a response, - for none
		after   time.Duration
		want    Gaps
	}{
		{"nothing wrong", "aaaa", time.Second, Gaps{Sent: 4}},
		{"one lost", "aa-aa", time.Second, Gaps{Sent: 5, Lost: 1, Gaps: 1, Longest: 20 * time.Millisecond}},
		{"two gaps, the longer counts", "a-a---a", time.Second, Gaps{Sent: 7, Lost: 4, Gaps: 2, Longest: 40 * time.Millisecond}},
		{"silent at first", "--aa", time.Second, Gaps{Sent: 4, Lost: 2, Gaps: 1}},
		{"silent at the end", "aa--", time.Second, Gaps{Sent: 4, Lost: 2, Gaps: 1, Silent: true}},
		{"never an answer", "---", time.Second, Gaps{Sent: 3, Lost: 3, Gaps: 1, Silent: true}},
		{"not due yet", "aa--", 40 * time.Millisecond, Gaps{Sent: 2}},
		{"nothing sent", "", time.Second, Gaps{}},
	} {
		t.Run(test.name, func(t *testing.T) {
			var sent []probed
			for i, letter := range test.answers {
				sent = append(sent, probed{at: began.Add(time.Duration(i) * probeEvery), answered: letter == 'a'})
			}
			if got := gapsOf(sent, began.Add(test.after)); got != test.want {
				t.Errorf("got %+v, want %+v", got, test.want)
			}
		})
	}
}
