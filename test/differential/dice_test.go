//go:build differential

package differential

// dice are decisions read from bytes, so that a fuzzer can steer and shorten
// them. Once the bytes are used up every decision is the first one, so that all
// lists end.
type dice struct {
	bytes []byte
}

// pick gives a number from 0 to n-1, and 0 at the end.
func (d *dice) pick(n int) int {
	if len(d.bytes) == 0 {
		return 0
	}
	b := d.bytes[0]
	d.bytes = d.bytes[1:]
	return int(b) % n
}

// once in n, and never at the end.
func (d *dice) oneIn(n int) bool { return d.pick(n) == n-1 }

func oneOf[T any](d *dice, choices ...T) T { return choices[d.pick(len(choices))] }

// maybe is one of the choices or nothing.
func maybe[T any](d *dice, n int, choices ...T) *T {
	if !d.oneIn(n) {
		return nil
	}
	choice := oneOf(d, choices...)
	return &choice
}
