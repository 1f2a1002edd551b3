// Package wire tells what went wrong on the way to a server, in words that a
// person can act on, and when to ask again. It knows nothing of what is asked
// for: a payload and the contents that it refers to come over the same wires.
package wire
