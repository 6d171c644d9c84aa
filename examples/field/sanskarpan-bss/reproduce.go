// A main package in their module: three processes, whose transport passes on every message at once.
package main

import (
	"fmt"
	"time"

	"github.com/DistributedClocks/vectorclock-system/internal/events"
	"github.com/DistributedClocks/vectorclock-system/internal/process"
)

var group = map[string]*process.Process{}

type network struct{}

func (network) Send(_, to string, m *process.Message) error {
	group[to].Deliver(m)
	return nil
}

func main() {
	pids, peers := []string{"P1", "P2", "P3"}, [][]string{{"P2", "P3"}, {"P1", "P3"}, {"P1", "P2"}}
	for k, id := range pids {
		cfg := process.ProcessConfig{ID: id, Peers: peers[k], AllPIDs: pids}
		cfg.ClockType, cfg.DeliveryMode = process.ClockVector, process.CausalDelivery
		group[id] = process.New(cfg, network{}, events.NewEventBus())
		group[id].Start()
	}
	group["P1"].Broadcast("m1")
	time.Sleep(time.Second)
	for _, id := range pids[1:] {
		fmt.Println(id, "holds back", group[id].Snapshot().HeldMessages)
	}
}
