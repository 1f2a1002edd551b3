// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/hcp-node-agent/hcp-node-agent/internal/enrollment"
	"github.com/hcp-node-agent/hcp-node-agent/test/bed"
	"github.com/hcp-node-agent/hcp-node-agent/test/rights"
)

type measurement struct {
	foreign   int           // CSRs that must not be approved
	submitted time.Duration // until the last node had submitted its CSR
	issued    time.Duration // from the first CSR until the last node had its certificate
	approvers [2]approverResult
	waiting   int64 // bytes received by a node that waited during the whole run
}

// measure runs one fleet against a control plane of its own.
func measure(ctx context.Context, program string, count int) (r measurement, err error) {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Minute)
	defer cancel()
	dir, err := os.MkdirTemp("", "fleet-")
	if err != nil {
		return r, fmt.Errorf("creating a directory: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	plane, err := bed.Start(ctx, bed.Options{Dir: filepath.Join(dir, "plane")})
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, plane.Close()) }()
	f := &fleet{plane: plane, dir: dir, enrollmentDir: filepath.Join(dir, "enrollments")}
	if err := f.prepare(ctx, count); err != nil {
		return r, err
	}
	return f.run(ctx, program)
}

type fleet struct {
	plane              *bed.ControlPlane
	dir, enrollmentDir string
	caHashes           []enrollment.Hash
	nodes              []*node
	waiting            *node
	admin, bootstrap   kubernetes.Interface
}

func (f *fleet) prepare(ctx context.Context, count int) error {
	later := filepath.Join(f.dir, "later")
	if err := errors.Join(os.MkdirAll(f.enrollmentDir, 0o700), os.MkdirAll(later, 0o700)); err != nil {
		return fmt.Errorf("creating directories: %w", err)
	}
	ca, err := os.ReadFile(f.plane.ClusterCA)
	if err != nil {
		return fmt.Errorf("reading the cluster's CA: %w", err)
	}
	if f.caHashes, err = enrollment.CAHashes(ca); err != nil {
		return err
	}
	for n := range count {
		made, err := newNode(fmt.Sprintf("fleet-%04d", n), ca, f.enrollmentDir)
		if err != nil {
			return err
		}
		f.nodes = append(f.nodes, made)
	}
	if f.waiting, err = newNode("fleet-waiting", ca, later); err != nil {
		return err
	}
	kubeconfig, err := os.ReadFile(f.plane.Kubeconfig)
	if err != nil {
		return fmt.Errorf("reading the administrator's kubeconfig: %w", err)
	}
	if f.admin, err = connect(kubeconfig); err != nil {
		return err
	}
	stolen, err := bootstrapKubeconfig(f.plane, "https://"+f.plane.APIForward)
	if err != nil {
		return err
	}
	if f.bootstrap, err = connect(stolen); err != nil {
		return err
	}
	return rights.Grant(ctx, f.admin, "approver-rbac.yaml")
}

func connect(kubeconfig []byte) (kubernetes.Interface, error) {
	config, err := clientcmd.RESTConfigFromKubeConfig(kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("reading a kubeconfig: %w", err)
	}
	config.QPS = -1
	config.ContentType = "application/vnd.kubernetes.protobuf"
	return kubernetes.NewForConfig(config)
}

func (f *fleet) run(ctx context.Context, program string) (r measurement, err error) {
	waiting, err := startWaiting(ctx, f.plane, f.waiting, f.caHashes, f.dir)
	if err != nil {
		return r, err
	}
	defer waiting.proxy.listener.Close()
	var approvers [2]*approverProcess
	for i := range approvers {
		if approvers[i], err = startApprover(ctx, program, f.plane, f.admin, f.dir, f.enrollmentDir); err != nil {
			return r, err
		}
	}
	begun := time.Now()
	foreign, err := submitAll(ctx, f.bootstrap, f.caHashes, f.nodes)
	r.submitted, r.foreign = time.Since(begun), len(foreign)
	if err != nil {
		return r, err
	}
	if err := f.awaitIssued(ctx); err != nil {
		return r, err
	}
	r.issued = time.Since(begun)
	// Add the enrollment of the node that has waited since the start.
	name := f.waiting.name + enrollment.EnrollmentSuffix
	if err := os.Rename(filepath.Join(f.dir, "later", name), filepath.Join(f.enrollmentDir, name)); err != nil {
		return r, fmt.Errorf("giving the last enrollment: %w", err)
	}
	if err := <-waiting.done; err != nil {
		return r, fmt.Errorf("the waiting node: %w", err)
	}
	r.waiting = waiting.proxy.received.Load()
	for i, p := range approvers {
		if r.approvers[i], err = p.stop(); err != nil {
			return r, err
		}
	}
	return r, f.check(ctx, foreign, approvers)
}

// awaitIssued waits until every node of the fleet has its certificate.
func (f *fleet) awaitIssued(ctx context.Context) error {
	missing := map[string]bool{}
	for _, n := range f.nodes {
		missing[n.csr] = true
	}
	for {
		list, err := f.admin.CertificatesV1().CertificateSigningRequests().List(ctx, metav1.ListOptions{})
		if err != nil {
			return fmt.Errorf("listing the CSRs (%d are not issued): %w", len(missing), err)
		}
		for _, csr := range list.Items {
			if len(csr.Status.Certificate) > 0 {
				delete(missing, csr.Name)
			}
		}
		if len(missing) == 0 {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%d CSRs are not issued: %w", len(missing), ctx.Err())
		case <-time.After(500 * time.Millisecond):
		}
	}
}

// check returns an error unless each node was approved exactly once and no other CSR was.
func (f *fleet) check(ctx context.Context, foreign []string, approvers [2]*approverProcess) error {
	times := map[string]int{}
	for _, p := range approvers {
		for _, recorded := range p.events {
			if recorded.Outcome == "approved" {
				times[recorded.CSR]++
			}
		}
	}
	list, err := f.admin.CertificatesV1().CertificateSigningRequests().List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("listing the CSRs: %w", err)
	}
	conditions := map[string][]certificatesv1.CertificateSigningRequestCondition{}
	for _, csr := range list.Items {
		conditions[csr.Name] = csr.Status.Conditions
	}
	var errs []error
	for _, n := range f.nodes {
		if times[n.csr] != 1 || len(conditions[n.csr]) != 1 {
			errs = append(errs, fmt.Errorf("%s was approved %d times, and its CSR has the conditions %v", n.name, times[n.csr],
				conditions[n.csr]))
		}
		delete(times, n.csr)
	}
	for _, name := range foreign {
		if times[name] > 0 || len(conditions[name]) > 0 {
			errs = append(errs, fmt.Errorf("%s of a requestor without permission has the conditions %v", name, conditions[name]))
		}
	}
	if len(times) != 1 { // of the waiting node
		errs = append(errs, fmt.Errorf("others were approved: %v", times))
	}
	return errors.Join(errs...)
}
