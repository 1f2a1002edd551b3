// Package watch looks at a node's affairs again and again, each at its own
// pace, and tells what has changed: what is not as it should be any more, and
// what is again. It does nothing about them.
//
// What is seen once is not told yet: kubelet misses a heartbeat, an API server
// is replaced, and a minute later all is well. What a look could not find out
// has neither come nor gone.
package watch
