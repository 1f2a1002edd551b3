// Package api holds the types that the controlplane program and its callers
// share. document.go and switchboard.go are the same files as in test/bed,
// which belongs to another module; a test holds them equal.
package api
