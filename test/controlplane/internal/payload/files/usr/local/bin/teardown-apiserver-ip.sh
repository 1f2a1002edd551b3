#!/usr/bin/env bash
set -x
ip addr delete {{.Stack.InternalAPI}}/32 dev lo
ip route del {{.Stack.InternalAPI}}/32 dev lo scope link src {{.Stack.InternalAPI}}
