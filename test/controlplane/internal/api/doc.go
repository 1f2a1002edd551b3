// SPDX-License-Identifier: Apache-2.0

// Package api holds the types that the controlplane binary shares with its clients. document.go
// and admin.go are copies of the files in test/bed, which belongs to another module. A test
// checks that they are equal.
package api
