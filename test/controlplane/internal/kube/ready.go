// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
)

// connect waits for the API server and creates the RBAC objects.
func (cluster *Cluster) connect(ctx context.Context, c Config) error {
	config, err := clientcmd.BuildConfigFromFlags("", cluster.AdminKubeconfig)
	if err != nil {
		return fmt.Errorf("reading the administrator's kubeconfig: %w", err)
	}
	config.Timeout = time.Minute
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("making a client: %w", err)
	}
	cluster.Client = client
	err = c.Group.Until(ctx, "the API server's /readyz", func(ctx context.Context) error {
		return client.Discovery().RESTClient().Get().AbsPath("/readyz").Do(ctx).Error()
	})
	if err != nil {
		return err
	}
	c.OnReady("apiserver")
	version, err := client.Discovery().ServerVersion()
	if err != nil {
		return fmt.Errorf("getting the version of the API server: %w", err)
	}
	cluster.Version = version.GitVersion
	return grant(ctx, client)
}

// waitForControllers waits until both are healthy and the controller manager has created the
// default service account.
func (cluster *Cluster) waitForControllers(ctx context.Context, c Config) error {
	for name, address := range map[string]string{
		"kube-controller-manager": kcmHealth,
		"kube-scheduler":          schedulerHealth,
	} {
		err := c.Group.Until(ctx, "/healthz of "+name, func(ctx context.Context) error {
			return healthz(ctx, c, address)
		})
		if err != nil {
			return err
		}
	}
	err := c.Group.Until(ctx, "the default service account", func(ctx context.Context) error {
		_, err := cluster.Client.CoreV1().ServiceAccounts("default").Get(ctx, "default", metav1.GetOptions{})
		return err
	})
	if err != nil {
		return err
	}
	c.OnReady("controllers")
	return nil
}

func healthz(ctx context.Context, c Config, address string) error {
	client := &http.Client{Timeout: time.Minute, Transport: &http.Transport{
		DialContext: func(ctx context.Context, _, address string) (net.Conn, error) { return c.Dial(ctx, address) },
		// Both servers create a self-signed certificate at each start. The address is on the
		// loopback interface of the namespace.
		TLSClientConfig:   &tls.Config{InsecureSkipVerify: true}, //nolint:gosec // see above
		DisableKeepAlives: true,
	}}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+address+"/healthz", nil)
	if err != nil {
		return err
	}
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("HTTP status %s", response.Status)
	}
	return nil
}
