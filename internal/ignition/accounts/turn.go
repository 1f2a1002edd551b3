package accounts

import (
	"context"
	"errors"
	"os"

	"github.com/hcp-node-agent/hcp-node-agent/internal/host"
	"github.com/hcp-node-agent/hcp-node-agent/internal/report"
)

// turnFile is locked by each program of shadow-utils that this package starts.
// A kill of the agent does not end the program: groupadd would go on to write
// the group after the next run has looked, found none, and so given none back.
// Their own lock is no help, as one that has only been started has not taken it
// yet.
const turnFile = "/etc/.hcp-node-agent.accounts"

// takeTurn waits for what a killed run left running.
func takeTurn(ctx context.Context, tree *host.Tree) (*os.File, error) {
	lock, err := tree.Lock(ctx, turnFile)
	if errors.Is(err, context.DeadlineExceeded) {
		return nil, report.Fail(report.Failed, "# wait for it to end, and run this again",
			"a program that an earlier run started is still changing the accounts (it has %s open): %w", turnFile, err)
	}
	return lock, err
}

func endTurn(tree *host.Tree, lock *os.File) error {
	return errors.Join(tree.Remove(turnFile), lock.Close())
}

// awaitTurn waits for what a killed run left running, and writes nothing where
// none was killed.
func awaitTurn(ctx context.Context, tree *host.Tree) error {
	there, err := tree.Exists(turnFile)
	if err != nil || !there {
		return err
	}
	lock, err := takeTurn(ctx, tree)
	if err != nil {
		return err
	}
	return endTurn(tree, lock)
}
