// Command demo demonstrates the agent on this host alone. It starts a control plane and a virtual
// machine, runs hcp-node-agent join in the machine, and runs a pod on the resulting node.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/hcp-node-agent/hcp-node-agent/test/testenv"
)

func main() {
	keep := flag.Bool("keep", false, "leave all running in the end, until Ctrl-C, for a look around")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := demo(ctx, *keep)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(1)
	}
}

func demo(ctx context.Context, keep bool) (err error) {
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
	s, err := testenv.Open(ctx, testenv.Options{Repository: repository, Dir: dir, Log: os.Stderr})
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
	printStep("API server %s, Kubernetes %s; the machine is %s", s.ControlPlane.NodeSideServer, s.ControlPlane.KubernetesVersion, testenv.NodeName)
	if err := s.Install(ctx); err != nil {
		return err
	}
	if err := s.CopyInputs(ctx); err != nil {
		return err
	}
	join := "hcp-node-agent join --user-data " + testenv.UserDataPath + " --approve-with " + testenv.ApproverKubeconfigPath
	printStep("in the machine: %s\n", join)
	code, err := s.Machine.RunStream(ctx, join, nil, os.Stdout, os.Stderr)
	if err != nil {
		return err
	}
	if code != 0 {
		return fmt.Errorf("join ended with exit code %d", code)
	}
	printStep("running a pod on it")
	pod, err := s.RunPod(ctx, "hello")
	if err != nil {
		return err
	}
	return printResult(ctx, s, pod)
}

// printResult prints the node and the pod as reported by the API server.
func printResult(ctx context.Context, s *testenv.Environment, pod *corev1.Pod) error {
	node, err := s.Client.CoreV1().Nodes().Get(ctx, testenv.NodeName, metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("asking the API server about the node: %w", err)
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
		return errors.New("the node is not as it should be")
	}
	return nil
}
