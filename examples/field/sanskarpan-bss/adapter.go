// Drives sanskarpan/Vector-Clock: a running Process with causal delivery, from a main package in their module.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/DistributedClocks/vectorclock-system/internal/events"
	"github.com/DistributedClocks/vectorclock-system/internal/process"
)

// network prints the messages that a process sends.
type network struct{}

func (network) Send(_, to string, m *process.Message) error {
	m.SentAt = time.Time{} // it is only shown
	body, err := json.Marshal(m)
	fmt.Println("packet", to, string(body))
	return err
}

func main() {
	p, bus, seen := (*process.Process)(nil), (*events.EventBus)(nil), make(chan events.Event)
	for in := bufio.NewScanner(os.Stdin); in.Scan(); fmt.Println("ok") {
		words := append(strings.SplitN(in.Text(), " ", 3), "", "")
		switch words[0] {
		case "init":
			if p != nil {
				p.Stop()
				bus.Stop()
			}
			bus = events.NewEventBus()
			seen = bus.Subscribe([]events.EventType{events.EvtReceive, events.EvtDelivered, events.EvtMarkerReceived})
			cfg := process.ProcessConfig{ID: words[1], ClockType: process.ClockVector, DeliveryMode: process.CausalDelivery}
			for k := 0; fmt.Sprint(k) != words[2]; k++ {
				if cfg.AllPIDs = append(cfg.AllPIDs, fmt.Sprint(k)); cfg.AllPIDs[k] != cfg.ID {
					cfg.Peers = append(cfg.Peers, cfg.AllPIDs[k])
				}
			}
			p = process.New(cfg, network{}, bus)
			p.Start()
		case "send":
			p.Broadcast(words[2])
		case "packet": // after the message a snapshot marker: when that was received, the message has been handled
			m := &process.Message{}
			json.Unmarshal([]byte(words[2]), m)
			p.Deliver(m)
			p.Deliver(&process.Message{IsMarker: true})
			for e := <-seen; e.Type != events.EvtMarkerReceived; e = <-seen {
				fmt.Println("deliver", e.Message.Data)
			}
		}
	}
}
