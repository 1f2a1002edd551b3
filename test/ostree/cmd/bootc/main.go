// SPDX-License-Identifier: Apache-2.0

// Command bootc stands in for bootc, and for rpm-ostree if it is called by that name.
package main

func main() {}
