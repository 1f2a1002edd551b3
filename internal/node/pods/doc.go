// SPDX-License-Identifier: Apache-2.0

// Package pods explains why pods of a node are not running: images that cannot be
// pulled, Secrets that do not exist, containers that exit, volumes that cannot be
// mounted. It decides on given facts alone. Start reading with Problems.
package pods
