#!/usr/bin/env bash
set -x
ip addr add {{.Stack.InternalAPI}}/32 brd {{.Stack.InternalAPI}} scope host dev lo
ip route add {{.Stack.InternalAPI}}/32 dev lo scope link src {{.Stack.InternalAPI}}
