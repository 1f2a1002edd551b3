// SPDX-License-Identifier: Apache-2.0

package lists

import (
	"slices"
	"strconv"
	"testing"
)

func TestMap(t *testing.T) {
	if got := Map([]int{1, 2}, strconv.Itoa); !slices.Equal(got, []string{"1", "2"}) {
		t.Errorf("the results are %q", got)
	}
	if got := Map(nil, strconv.Itoa); got != nil {
		t.Errorf("the results of an empty list are %#v", got)
	}
}

func TestFind(t *testing.T) {
	isEven := func(n int) bool { return n%2 == 0 }
	if got := Find([]int{1, 2, 4}, isEven); got != 2 {
		t.Errorf("found %d", got)
	}
	if got := Find([]int{1, 3}, isEven); got != 0 {
		t.Errorf("found %d in a list without an even number", got)
	}
}

func TestCount(t *testing.T) {
	if got := Count([]int{1, 2, 4}, func(n int) bool { return n%2 == 0 }); got != 2 {
		t.Errorf("counted %d", got)
	}
}

func TestAppendMissing(t *testing.T) {
	if got := AppendMissing([]int{1, 2}, 2, 3, 3); !slices.Equal(got, []int{1, 2, 3}) {
		t.Errorf("the list is %v", got)
	}
}
