// Package bootstrap joins this host to a cluster as a worker node. It defines the
// steps of a join, plans their changes, resumes interrupted runs, and rolls changes
// back.
package bootstrap
