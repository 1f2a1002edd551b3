// SPDX-License-Identifier: Apache-2.0

// Package lists contains functions for slices that package slices does not have.
package lists

import "slices"

// Map returns the results of f for the elements of list, in their order. It is nil if the list is empty.
func Map[T, R any](list []T, f func(T) R) []R {
	var results []R
	for _, element := range list {
		results = append(results, f(element))
	}
	return results
}

// Find returns the first element of list for which f returns true. It is the zero value if there is none.
func Find[T any](list []T, f func(T) bool) T {
	for _, element := range list {
		if f(element) {
			return element
		}
	}
	var none T
	return none
}

// Count returns the number of elements of list for which f returns true.
func Count[T any](list []T, f func(T) bool) int {
	count := 0
	for _, element := range list {
		if f(element) {
			count++
		}
	}
	return count
}

// AppendMissing appends to list the elements of more that it does not contain yet.
func AppendMissing[T comparable](list []T, more ...T) []T {
	for _, element := range more {
		if !slices.Contains(list, element) {
			list = append(list, element)
		}
	}
	return list
}
