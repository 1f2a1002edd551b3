// Package bootstrap is the story of a join: its steps in their order, the plan
// of what they will change, how they are resumed, and the way back.
package bootstrap
