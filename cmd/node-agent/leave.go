package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/pflag"

	"github.com/hcp-node-agent/hcp-node-agent/internal/bootstrap"
)

type leaveDocument struct {
	bootstrap.LeaveDocument
	result
}

func leaveVerb() verb {
	return verb{
		name: "leave",
		does: "give the host back as it was before the join",
		more: `
moves the pods away, stops kubelet and its containers, and undoes every change by the ledger, newest first. What kubelet, CRI-O
and pods created is removed. What others changed since, or created in directories that they share with the cluster, is kept and
listed. Run it again if it was stopped: it resumes.`,
		prepare: func(flags *pflag.FlagSet) action {
			noDrain := flags.Bool("no-drain", false, "do not move the pods away first")
			purge := flags.Bool("purge", false, "also remove files that others can have put beside the cluster's since the join")
			return func(ctx context.Context, _ *pflag.FlagSet, face *face) error {
				left, err := bootstrap.Leave(ctx, bootstrap.LeaveOptions{
					Options: bootstrap.Options{StateDir: bootstrap.StateDir, Sink: face.sink}, Evict: !*noDrain, Purge: *purge,
					FirstBoot: bootstrap.FirstBoot{Dir: bootstrap.FirstBootDir},
				})
				face.told = err != nil && stepFailed(face.recorder)
				if err != nil && !face.json {
					return err
				}
				document := leaveDocument{left, resultOf(err)}
				if writeErr := face.document(document, func(w io.Writer) { sayLeft(w, left) }); writeErr != nil && err == nil {
					err = writeErr
				}
				return err
			}
		},
	}
}

func sayLeft(w io.Writer, left bootstrap.LeaveDocument) {
	fmt.Fprintf(w, "\n%d things are as they were before the join\n", left.Restored)
	if n := len(left.Removed); n > 0 {
		fmt.Fprintf(w, "removed, of kubelet, CRI-O and pods: %d\n", n)
	}
	if n := len(left.Kept); n > 0 {
		fmt.Fprintf(w, "kept, as others changed or created it: %d\n", n)
		for _, kept := range left.Kept {
			fmt.Fprintf(w, "  %s %s\n", kept.Kind, kept.Target)
		}
	}
	if left.Next != "" {
		fmt.Fprintf(w, "the Node object is still in the cluster; an administrator deletes it:\n  %s\n", left.Next)
	}
}
