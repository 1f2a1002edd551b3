// SPDX-License-Identifier: Apache-2.0

package dnf

import (
	"context"
	"strconv"
	"strings"
)

// Transaction is an entry of dnf's history.
type Transaction struct {
	ID        string
	Comment   string
	Installed []Package // new packages, without those that replaced another version
	Replacing []Package // packages that replaced another version, or were installed again
	Removed   []Package
}

// LastTransaction returns the number of dnf's last transaction, or "" if there
// is none.
func (h Host) LastTransaction(ctx context.Context) (string, error) {
	ids, err := h.transactionIDs(ctx)
	if err != nil || len(ids) == 0 {
		return "", err
	}
	return ids[0], nil
}

// Transactions returns dnf's transactions after the one with the given number, oldest
// first; "" returns all.
func (h Host) Transactions(ctx context.Context, after string) ([]Transaction, error) {
	ids, err := h.transactionIDs(ctx)
	if err != nil {
		return nil, err
	}
	first, _ := strconv.Atoi(after) // 0 for ""
	var list []Transaction
	for _, id := range ids {
		if number, err := strconv.Atoi(id); err != nil || number <= first {
			continue
		}
		transaction, err := h.transaction(ctx, id)
		if err != nil {
			return nil, err
		}
		list = append([]Transaction{transaction}, list...)
	}
	return list, nil
}

// transaction returns the transaction with a number.
func (h Host) transaction(ctx context.Context, id string) (Transaction, error) {
	args := []string{"--cacheonly", "history", "info", id}
	if IsDNF5() {
		args = append(args, "--json")
	}
	out, err := h.run(ctx, "reading transaction "+id+" of dnf", nil, args...)
	if err == nil && IsDNF5() {
		return parseTransaction5(id, out)
	}
	return parseTransaction(id, out), err
}

// transactionIDs returns the numbers of dnf's transactions, newest first.
func (h Host) transactionIDs(ctx context.Context) ([]string, error) {
	args := []string{"--cacheonly", "history", "list"}
	if IsDNF5() {
		args = append(args, "--json")
	}
	out, err := h.run(ctx, "reading the history of dnf", nil, args...)
	if err == nil && IsDNF5() {
		return parseHistory5(out)
	}
	return parseHistory(out), err
}

// parseHistory returns the numbers in the lines of dnf's table.
func parseHistory(out string) []string {
	var ids []string
	for line := range strings.Lines(out) {
		id, _, table := strings.Cut(line, "|")
		if id = strings.TrimSpace(id); table && id != "" && strings.Trim(id, "0123456789") == "" {
			ids = append(ids, id)
		}
	}
	return ids
}

// add adds a package by what the transaction has done with it.
func (t *Transaction) add(action, nevra string) {
	p, ok := parseNEVRA(nevra)
	if !ok {
		return
	}
	switch action {
	case "Install":
		t.Installed = append(t.Installed, p)
	case "Upgrade", "Downgrade", "Reinstall":
		t.Replacing = append(t.Replacing, p)
	case "Removed", "Remove": // of dnf 4 and dnf5
		t.Removed = append(t.Removed, p)
	}
}

// parseTransaction parses the output of dnf history info: "Comment : TEXT", and for each package
// a line such as "Install NAME-EPOCH:VERSION-RELEASE.ARCH @REPOSITORY".
func parseTransaction(id, out string) Transaction {
	t := Transaction{ID: id}
	for line := range strings.Lines(out) {
		if key, value, found := strings.Cut(line, ":"); found && strings.TrimSpace(key) == "Comment" {
			t.Comment = strings.TrimSpace(value)
		}
		words := strings.Fields(line)
		if len(words) != 3 || !strings.HasPrefix(words[2], "@") {
			continue
		}
		t.add(words[0], words[1])
	}
	return t
}

// parseNEVRA parses NAME-EPOCH:VERSION-RELEASE.ARCH, where EPOCH: is optional.
func parseNEVRA(text string) (Package, bool) {
	dot, release := strings.LastIndex(text, "."), strings.LastIndex(text, "-")
	if release < 0 || dot < release {
		return Package{}, false
	}
	version := strings.LastIndex(text[:release], "-")
	if version < 0 {
		return Package{}, false
	}
	p := Package{
		Name:    text[:version],
		Version: text[version+1 : release],
		Release: text[release+1 : dot],
		Arch:    text[dot+1:],
	}
	if _, after, found := strings.Cut(p.Version, ":"); found {
		p.Version = after
	}
	return p, true
}
