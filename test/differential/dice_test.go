// SPDX-License-Identifier: Apache-2.0

//go:build differential

package differential

// choices makes decisions from bytes, so that a fuzzer can control and minimize them. When the bytes
// are used up, every decision is the first choice, so that all lists end.
type choices struct {
	bytes []byte
}

// number returns a number from 0 to n-1, or 0 if the bytes are used up.
func (d *choices) number(n int) int {
	if len(d.bytes) == 0 {
		return 0
	}
	b := d.bytes[0]
	d.bytes = d.bytes[1:]
	return int(b) % n
}

// oneIn returns true with a probability of 1/n, and false if the bytes are used up.
func (d *choices) oneIn(n int) bool { return d.number(n) == n-1 }

func oneOf[T any](d *choices, choices ...T) T { return choices[d.number(len(choices))] }

// maybe returns one of the choices or nil.
func maybe[T any](d *choices, n int, choices ...T) *T {
	if !d.oneIn(n) {
		return nil
	}
	choice := oneOf(d, choices...)
	return &choice
}
