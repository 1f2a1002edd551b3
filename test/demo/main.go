// SPDX-License-Identifier: Apache-2.0

// Command demo demonstrates the agent on this host alone. It starts a control plane and a virtual
// machine, runs hcp-node-agent join in the machine, and runs a pod on the resulting node.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hcp-node-agent/hcp-node-agent/test/recording"
	"github.com/hcp-node-agent/hcp-node-agent/test/testenv"
)

func main() {
	keep := flag.Bool("keep", false, "leave the control plane and the machine running until Ctrl-C")
	record := flag.String("record", "", "record the join on a terminal, and draw it in this SVG file")
	recorded := flag.String("draw", "", "draw this recording of an earlier join in the file of -record")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	var err error
	if *recorded != "" {
		err = draw(*recorded, *record)
	} else {
		err = demo(ctx, *keep, *record)
	}
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(1)
	}
}

func demo(ctx context.Context, keep bool, record string) (err error) {
	repository, err := os.Getwd()
	if err != nil {
		return fmt.Errorf("finding the repository: %w", err)
	}
	dir := filepath.Join(repository, "build", "demo")
	began := time.Now()
	printStep := func(format string, args ...any) {
		fmt.Printf("\n== %5.1fs  %s\n", time.Since(began).Seconds(), fmt.Sprintf(format, args...))
	}
	printStep("starting a hosted control plane and a machine (logs: %s)", dir)
	s, err := testenv.Open(ctx, testenv.Options{
		Repository: repository, Dir: dir, Log: os.Stderr, CPUs: 2, MemoryMiB: 8192, // the recommended size
	})
	if err != nil {
		return err
	}
	defer func() {
		if keep && ctx.Err() == nil {
			fmt.Printf("\nfailure: %v\nssh: %s\nKUBECONFIG=%s\n", err, s.Machine.Command(), s.ControlPlane.Kubeconfig)
			<-ctx.Done()
		}
		err = errors.Join(err, s.Close())
	}()
	printStep("API server %s, Kubernetes %s; the machine is %s", s.ControlPlane.NodeSideServer,
		s.ControlPlane.KubernetesVersion, testenv.NodeName)
	if err := s.Install(ctx); err != nil {
		return err
	}
	if err := s.CopyInputs(ctx); err != nil {
		return err
	}
	printStep("in the machine: %s\n", environment+join)
	output, command := io.Writer(os.Stdout), environment+join
	var r *recording.Recorder
	if record != "" {
		file, err := os.Create(filepath.Join(dir, "join.cast"))
		if err != nil {
			return fmt.Errorf("creating the recording: %w", err)
		}
		defer file.Close()
		if r, err = recording.NewRecorder(file); err != nil {
			return fmt.Errorf("writing the recording: %w", err)
		}
		output = io.MultiWriter(r, os.Stdout)
		command = recording.OnTerminal(environment + join + " --trace " + joinTrace)
		fmt.Fprintf(r, "# %s\r\n", join)
	}
	approval, err := joinAndApprove(ctx, s, command, output)
	if err != nil {
		return err
	}
	fmt.Fprint(output, approval)
	if record != "" {
		err = errors.Join(draw(filepath.Join(dir, "join.cast"), record), drawTrace(ctx, s, filepath.Dir(record)))
	}
	if err != nil {
		return err
	}
	printStep("running a pod on it")
	pod, err := s.RunPod(ctx, "hello")
	if err != nil {
		return err
	}
	return printResult(ctx, s, pod)
}

// join is the command of the quick start. The file is in the home directory of root.
const join = "hcp-node-agent join --user-data user-data.ign"

// joinTrace is the file of the trace of a recorded join, in the machine.
const joinTrace = "/root/join-trace.json"

// environment sets the timeout of the tests. The recording shows the command without it, as the quick start does.
const environment = "HCP_NODE_AGENT_NETWORK_TIMEOUT=" + testenv.NetworkTimeout + " "

// joinAndApprove runs the join in the machine, and approves its CSRs on this host. It returns the command and the
// output of the approval.
func joinAndApprove(ctx context.Context, s *testenv.Environment, join string, output io.Writer) (string, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	joined := make(chan error, 1)
	go func() {
		code, err := s.Machine.RunStream(ctx, join, nil, output, output)
		if err == nil && code != 0 {
			err = fmt.Errorf("join exited with code %d", code)
		}
		if err != nil {
			cancel() // there is nothing to approve
		}
		joined <- err
	}()
	approval, err := approve(ctx, s)
	return approval, errors.Join(<-joined, err)
}

// draw draws the recording of a join.
func draw(from, svg string) error {
	return recording.Draw(from, svg, "hcp-node-agent join", omitted())
}

// drawTrace draws the trace of the join in a directory.
func drawTrace(ctx context.Context, s *testenv.Environment, dir string) error {
	trace, err := s.Machine.Output(ctx, "cat "+joinTrace)
	if err != nil {
		return err
	}
	picture, err := recording.Timeline("the steps of a join", []byte(trace))
	if err != nil {
		return err
	}
	//nolint:gosec // a file of the repository
	return os.WriteFile(filepath.Join(dir, "join-trace.svg"), []byte(picture), 0o644)
}

// omitted returns a function that selects the lines that the picture omits: the preflight of the test machine, and
// those between the result of the join and the approval.
func omitted() func(line string) bool {
	isOmitted := false
	return func(line string) bool {
		switch {
		case strings.HasPrefix(line, "  ✓ preflight"), strings.HasPrefix(line, "Actions for you"):
			isOmitted = true
		case strings.HasPrefix(line, "  ✓ fetch"), strings.HasPrefix(line, approvalHeading):
			isOmitted = false
		}
		return isOmitted
	}
}

// printResult prints the node and the pod as reported by the API server.
func printResult(ctx context.Context, s *testenv.Environment, pod *corev1.Pod) error {
	node, err := s.Client.CoreV1().Nodes().Get(ctx, testenv.NodeName, metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("getting the Node: %w", err)
	}
	ready := "Unknown"
	for _, condition := range node.Status.Conditions {
		if condition.Type == corev1.NodeReady {
			ready = string(condition.Status)
		}
	}
	taints := []string{}
	for _, taint := range node.Spec.Taints {
		taints = append(taints, taint.ToString())
	}
	fmt.Printf("\nnode %s   Ready=%s   taints=[%s]   %s   %s\n", node.Name, ready, strings.Join(taints, " "),
		node.Status.NodeInfo.KubeletVersion, node.Status.NodeInfo.ContainerRuntimeVersion)
	fmt.Printf("pod  %s      %s on %s   %s\n", pod.Name, pod.Status.Phase, pod.Spec.NodeName, pod.Status.PodIP)
	logs, err := s.Client.CoreV1().Pods("default").GetLogs(pod.Name, &corev1.PodLogOptions{}).DoRaw(ctx)
	if err != nil {
		return fmt.Errorf("reading the pod's log: %w", err)
	}
	fmt.Printf("its log: %s\n", strings.TrimSpace(string(logs)))
	if ready != "True" || len(taints) > 0 || pod.Status.Phase != corev1.PodRunning {
		return errors.New("the node is not Ready and schedulable, or the pod is not running")
	}
	return nil
}
