// Package plan determines what a join would do, and changes nothing: it gathers facts, gets
// the payload, adapts it to this host, plans the migration of the uplink and gathers the
// facts for the checks. Start reading at Builder; Show is the plan command.
package plan
